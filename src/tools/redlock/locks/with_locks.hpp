#pragma once

#include "tools/redlock/args/settings.hpp"

#include <redlock/lock_manager.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <string_view>

namespace redlock::cli {

/// @throws early_exit if the settings are invalid
lock_manager manager_of(asio::any_io_executor, settings const&);

/// Refuses nodes that end a lock with the session of its process, because another process cannot use such a lock. Call
/// it before anything is acquired or printed.
/// @throws early_exit
void must_outlive_processes(settings const&, std::string_view command);

/** Creates a lock manager, runs @p body with it, and then stops it.

    @return the result of @p body
    @throws early_exit if the settings are invalid
    @throws any exception of @p body
*/
int with_locks(settings const&, std::function<asio::awaitable<int>(lock_manager&)> const& body);

}  // namespace redlock::cli
