#pragma once

#include "demo/shop.hpp"

#include <redlock/lock_manager.hpp>
#include <redlock/options.hpp>

#include <boost/asio/awaitable.hpp>

namespace redlock::demo {

/// Reads the books of all items, each under a shared lock on it, acquired as @p how says; and then once more without.
/// Notes which add up.
/// @throws system_error if a lock cannot be had, or is lost
asio::awaitable<void> report(shop& s, lock_manager& locks, acquire_options how);

}  // namespace redlock::demo
