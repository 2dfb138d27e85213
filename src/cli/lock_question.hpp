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

/// A client that shares a lock.
struct reader_view {
    std::string owner{};
    std::string value{};
    std::size_t votes = 0;             ///< how many nodes list this reader
    std::chrono::milliseconds ttl{0};  ///< the longest on these nodes; negative: expired, but not deleted yet
};

/// Processes that a node has denied the lock recently, and that may still wait for it.
struct waiting_view {
    std::size_t alone = 0;   ///< these want it exclusively
    std::size_t shared = 0;  ///< these want to share it
};

/// Everything that Redis and Valkey servers know about a lock.
struct lock_answer {
    lock_view lock{};
    std::vector<reader_view> readers{};
    std::string readers_hidden{};           ///< why a node did not list its readers; empty: all nodes listed them
    std::optional<waiting_view> waiting{};  ///< nothing: no node has told it
};

/// Asks @p all about the lock, and changes nothing on the servers.
/// @param key  without @p prefix
asio::awaitable<lock_answer> ask_about(servers& all, std::string prefix, std::string key);

}  // namespace redlock::cli
