#pragma once

#include "tools/demo/shop.hpp"

#include <redlock/lock_manager.hpp>
#include <redlock/options.hpp>

#include <boost/asio/awaitable.hpp>

namespace redlock::demo {

/// Reads the books of each item under a shared lock with the options @p how, and then once more without a lock.
/// Counts the lines that add up and those that do not.
/// @throws system_error if a lock is not acquired, or is lost
asio::awaitable<void> report(shop& s, lock_manager& locks, acquire_options how);

}  // namespace redlock::demo
