#pragma once

#include "cli/lock_view.hpp"
#include "cli/servers.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace redlock::cli {

/// One who shares a lock.
struct reader_view {
    std::string owner{};
    std::string value{};
    std::size_t votes = 0;             ///< how many nodes count it in
    std::chrono::milliseconds ttl{0};  ///< the longest of these; negative: it is over, and nobody has come by yet
};

/// Processes that were denied a lock lately, and may wait for it.
struct waiting_view {
    std::size_t alone = 0;   ///< those that want it alone
    std::size_t shared = 0;  ///< those that want to share it
};

/// All that Redis and Valkey servers tell of a lock.
struct lock_answer {
    lock_view lock{};
    std::vector<reader_view> readers{};
    std::string readers_hidden{};  ///< why a node that says that it is shared does not say by whom; empty: they all do
    std::optional<waiting_view> waiting{};  ///< nothing: no node tells
};

/// Asks @p all about the lock, and changes nothing. @param key  without @p prefix
asio::awaitable<lock_answer> ask_about(servers& all, std::string prefix, std::string key);

}  // namespace redlock::cli
