#pragma once

#include "cli/lock_scan.hpp"
#include "cli/servers.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::cli {

/// What one server was like.
struct node_sample {
    std::string name{};
    std::string trouble{};  ///< empty: it has answered
    std::chrono::microseconds round_trip{0};
    std::size_t votes = 0;                        ///< how many of the locks that a majority has are there
    std::optional<std::int64_t> commands{};       ///< carried out since it started; nothing: it does not say
    std::int64_t own_commands = 0;                ///< those of ours among them, since we connected first
    std::optional<double> commands_per_second{};  ///< of others, since the snapshot before
};

/// How all locks were at a moment, as far as can be told when they are looked at one after the other.
struct snapshot {
    std::chrono::steady_clock::time_point taken{};
    std::vector<node_sample> nodes{};
    std::array<std::size_t, 6> locks{};       ///< how many, by @ref lock_state
    std::size_t waiting = 0;                  ///< processes that wait for one of them; who waits for two counts twice
    std::vector<lock_view> first{};           ///< those that most wait for, and then by name
    fingerprints holds{};                     ///< who has what
    std::optional<double> new_per_second{};   ///< holds that were not there at the snapshot before …
    std::optional<double> gone_per_second{};  ///< … and those that were, and are no more

    std::size_t in(lock_state s) const { return locks[static_cast<std::size_t>(s)]; }
    std::size_t with_majority() const
    {
        return in(lock_state::held) + in(lock_state::shared) + in(lock_state::foreign);
    }
};

/// What is to be looked at.
struct view_range {
    std::string prefix{};
    std::string glob = "*";
    std::size_t rows = 50;  ///< of @ref snapshot::first
};

/// @param before  to compare with, or null
asio::awaitable<snapshot> take_snapshot(servers&, view_range, snapshot const* before);

/// nodes, locks, waiting, rates and first
boost::json::object json_of(snapshot const&);

/// Lines of a text, without their ends; those of headers are bold.
struct screen_line {
    std::string text;
    bool bold = false;
};
std::vector<screen_line> lines_of(snapshot const&);

}  // namespace redlock::cli
