#pragma once

#include "cli/settings.hpp"

#include <redlock/lock_manager.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>

namespace redlock::cli {

/// @throws early_exit if the settings are invalid
lock_manager manager_of(asio::any_io_executor, settings const&);

/** Creates a lock manager, runs @p body with it, and then stops it.

    @return the result of @p body
    @throws early_exit if the settings are invalid
    @throws any exception of @p body
*/
int with_locks(settings const&, std::function<asio::awaitable<int>(lock_manager&)> const& body);

}  // namespace redlock::cli
