#pragma once

#include "tools/redlock/commands/key_scan.hpp"
#include "tools/redlock/locks/lock_view.hpp"
#include "tools/redlock/server/servers.hpp"

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

/// How many commands a server has executed.
struct command_count {
    std::optional<std::int64_t> all{};  ///< since the server started; nothing: unknown
    std::int64_t ours = 0;              ///< of these, the commands of this process on its connection for statistics
};

/// The state of one server in a snapshot.
struct node_sample {
    std::string name{};
    error_code error{};     ///< why it has not listed all its locks; none: it has
    std::string trouble{};  ///< @ref error in words
    std::chrono::microseconds round_trip{0};
    std::size_t votes = 0;                        ///< how many of the locks with a majority it has
    command_count at_begin{}, at_end{};           ///< of the snapshot
    std::optional<double> commands_per_second{};  ///< of other clients, between the previous snapshot and this one
};

/// The state of all locks. They are read one after the other, so it is not exactly the state at one time.
struct snapshot {
    std::chrono::steady_clock::time_point taken{}, ended{};
    std::vector<node_sample> nodes{};
    std::array<std::size_t, 6> locks{};       ///< number of locks by @ref lock_state
    std::size_t waiting = 0;                  ///< waiting processes, summed over all locks
    std::vector<lock_view> first{};           ///< the locks with the most waiting processes, then by name
    fingerprints holds{};                     ///< pairs of lock and holder
    std::optional<double> new_per_second{};   ///< holds that the previous snapshot does not have
    std::optional<double> gone_per_second{};  ///< holds that only the previous snapshot has

    std::size_t in(lock_state s) const { return locks[static_cast<std::size_t>(s)]; }
    std::size_t with_majority() const
    {
        return in(lock_state::held) + in(lock_state::shared) + in(lock_state::foreign);
    }
};

/// The locks that a snapshot reads, and the number of rows that it keeps.
struct view_range {
    std::string glob = "*";
    std::size_t rows = 50;  ///< size of @ref snapshot::first
};

/// @param servers  for their statistics
/// @param before   the previous snapshot, to compute the rates, or null
asio::awaitable<snapshot> take_snapshot(servers&, settings const&, view_range, snapshot const* before);

/// The fields nodes, locks, waiting, rates and first.
boost::json::object json_of(snapshot const&);

/// A line of the screen without its line end. Headers are bold.
struct screen_line {
    std::string text;
    bool bold = false;
};
std::vector<screen_line> lines_of(snapshot const&);

}  // namespace redlock::cli
