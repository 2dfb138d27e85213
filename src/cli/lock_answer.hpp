#pragma once

#include "cli/lock_view.hpp"

#include <redlock/report.hpp>

#include <algorithm>
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

/// A process that a node has denied the lock recently, and that may still wait for it.
struct waiting_view {
    std::string owner{};  ///< empty: it leaves no label
    std::string note{};
    bool shares = false;  ///< whether it wants to share the lock
};

/// Everything that the nodes know about a lock.
struct lock_answer {
    lock_view lock{};
    std::vector<reader_view> readers{};
    std::string readers_hidden{};  ///< why a node did not list its readers; empty: all nodes listed them
    std::optional<std::vector<waiting_view>> waiting{};  ///< nothing: no node has told it

    std::size_t sharing() const
    {
        return waiting ? static_cast<std::size_t>(std::ranges::count(*waiting, true, &waiting_view::shares)) : 0;
    }
};

/// Converts the result of `lock_manager::async_inspect`.
lock_answer answer_of(lock_info const&);

}  // namespace redlock::cli
