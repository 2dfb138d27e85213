#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/error.hpp>
#include <redlock/histogram.hpp>
#include <redlock/quarantine_reason.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::inline v1 {

/// The state of one node, as the manager sees it.
struct node_stats {
    std::string name{};             ///< The node's address, without user and password.
    bool connected = false;         ///< Whether it can vote now.
    bool notifies = false;          ///< Whether it notifies of changes, so that waiters need not poll.
    std::uint64_t granted = 0;      ///< Its votes for acquisitions, extensions and upgrades, late votes included.
    std::uint64_t denied = 0;       ///< Its votes against them, late votes included.
    std::uint64_t unknown = 0;      ///< Its answers that do not count: errors, lost answers, votes in quarantine.
    std::uint64_t connections = 0;  ///< How many connections were made.
    error_code last_error{};        ///< The latest error; it stays after the trouble is over.
    std::string last_message{};     ///< The server's words for the latest error, without secrets.
    std::chrono::milliseconds quarantine{0};  ///< How long it does not vote yet. Zero: it votes.
    /// Why it does not vote yet, if @ref quarantine is not zero.
    quarantine_reason reason = quarantine_reason::fresh;
    /// The time from a request to its answer, including a connection: for releases, renewals, and acquisitions that
    /// have a report or an observer. (For others the clock would have to be read once more.) Requests without an answer
    /// do not count.
    histogram round_trip{};
};

/** Counters and histograms of acquisitions, and of the locks that they won, since the manager was made.

    When nothing is under way, `begun` is `acquired` + `joined` + the errors (`contended` to `failed`), and `acquired`
    is `released` + `detached` + `lost` + the locks that are held. `lost` is the sum of its three reasons.
*/
struct lock_stats {
    // Each member has its line in src/events/stat_members.hpp.

    std::uint64_t begun = 0;     ///< Acquisitions that have begun, including resumptions.
    std::uint64_t acquired = 0;  ///< Locks that were acquired or resumed.
    /// Acquisitions that joined a lock which the manager shares; no node was asked.
    std::uint64_t joined = 0;
    std::uint64_t contended = 0;           ///< Acquisitions that ended with `errc::contended`.
    std::uint64_t no_quorum = 0;           ///< Acquisitions and resumptions that ended with `errc::no_quorum`.
    std::uint64_t validity_exhausted = 0;  ///< Those that ended with `errc::validity_exhausted`.
    std::uint64_t quarantined = 0;         ///< Those that ended with `errc::quarantined`.
    std::uint64_t cancelled = 0;           ///< Those that were cancelled, or ended by the manager's shutdown.
    /// Those that ended with any other error: out of memory, too many calls at once, or a lost lock was to be resumed.
    std::uint64_t failed = 0;
    std::uint64_t released = 0;       ///< Locks that ended without a loss: see `events::released`.
    std::uint64_t detached = 0;       ///< Locks whose keys were left to another process: `lock::detach`.
    std::uint64_t lost = 0;           ///< Locks that were held and could not be kept.
    std::uint64_t lost_expired = 0;   ///< Locks that were lost with `loss::expired`.
    std::uint64_t lost_refused = 0;   ///< Locks that were lost with `loss::refused`.
    std::uint64_t lost_max_hold = 0;  ///< Locks that were lost with `loss::max_hold`.

    histogram time_to_acquire{};  ///< From the call to the lock; as many as `acquired` + `joined`.
    /// From the call to the round that was won: the wait for holders and connections.
    histogram time_waited{};
    histogram time_to_fail{};  ///< From the call to the error.
    histogram time_held{};     ///< From the acquisition to the end: released, detached or lost.
    /// The validity left when locks were released. Zero: the work took too long.
    histogram validity_left{};
    /// The validity left when automatic extensions succeeded; as many as `stats::renewals`. Short: renewals come late.
    histogram renewal_slack{};

    /// Adds another set of statistics, such as that of another manager.
    REDLOCK_API lock_stats& operator+=(lock_stats const& other);
};

/// The statistics of one group of acquisitions: `acquire_options::group`.
struct group_stats : lock_stats {
    std::string name{};  ///< The name of the group. Empty: acquisitions without a group.
};

/** A snapshot of counters since the manager was made, and of the present load. The members from @ref lock_stats count
    all groups together.

    Histograms are snapshots, too: `later.time_held - earlier.time_held` is about the locks that ended in between.

    @par Thread safety
    A value: distinct objects are safe.
*/
struct stats : lock_stats {
    std::uint64_t rounds = 0;           ///< Rounds of acquisitions and resumptions, won or lost.
    std::uint64_t second_rounds = 0;    ///< With fencing: rounds because too few nodes took the proposed token.
    std::uint64_t renewals = 0;         ///< Automatic extensions that succeeded.
    std::uint64_t renewals_late = 0;    ///< Automatic extensions with less than a fifth of the validity left.
    std::uint64_t renewals_failed = 0;  ///< Automatic extensions that failed, and were or will be tried again.
    std::uint64_t healed = 0;           ///< Keys set again on nodes that had forgotten them.
    std::uint64_t cleaned = 0;          ///< Keys released in the background.
    std::size_t held = 0;               ///< Locks held now.
    std::size_t waiting = 0;            ///< Acquisitions under way now that may wait.
    std::size_t running = 0;            ///< Operations under way or waiting now, including renewals.
    std::size_t cleaning = 0;           ///< Keys still to be released in the background.
    /// Whether this manager has founded the set, because all nodes were new: `lock_manager::async_found`.
    bool founded = false;
    /// How late the manager's alarms rang. Long times: a handler blocks the event loop, or the process was paused. Then
    /// locks are lost, and healthy servers seem to be away.
    histogram loop_lag{};
    std::vector<node_stats> nodes{};  ///< Each node, in the order of `manager_options::nodes`.
    /// Each group, if `acquire_options::group` was used: first the acquisitions without a group, then those with one. A
    /// lock that readers share counts in the group of the first of them.
    std::vector<group_stats> groups{};
};

}  // namespace redlock
