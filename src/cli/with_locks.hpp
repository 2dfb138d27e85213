#pragma once

#include "cli/settings.hpp"

#include <redlock/lock_manager.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace redlock::cli {

/** Runs @p body with a manager of its own, which is stopped after it.

    @return what @p body returns
    @throws early_exit if the settings are broken; whatever @p body throws
*/
int with_locks(settings const&, std::function<asio::awaitable<int>(lock_manager&)> const& body);

}  // namespace redlock::cli
