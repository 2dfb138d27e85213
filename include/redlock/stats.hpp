#pragma once

#include <redlock/error.hpp>
#include <redlock/histogram.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::inline v0 {

/// The state of one node, as the manager sees it.
struct node_stats {
    std::string name{};                      ///< The node's address, without user and password.
    bool connected = false;                  ///< Whether it can vote now.
    bool tells = false;                      ///< Whether it notifies of changes, so that waiters need not poll.
    std::uint64_t granted = 0;               ///< Its votes in acquisitions, extensions and upgrades …
    std::uint64_t denied = 0;
    std::uint64_t unknown = 0;               ///< … including late votes, which no round waited for.
    std::uint64_t connections = 0;           ///< How many connections were made.
    error_code last_error{};                 ///< The latest error; it stays after the trouble is over.
    std::string last_message{};              ///< Its words, without secrets.
    std::chrono::milliseconds quarantine{0}; ///< How long it does not vote yet, after a restart. Zero: it votes.
    /// The time from a request to its answer, including a connection: for releases, renewals, and acquisitions that
    /// have a report or an observer. (For others the clock would have to be read once more.) Requests without an answer
    /// do not count.
    histogram round_trip{};
};

/** Counters and histograms of acquisitions, and of the locks that they won, since the manager was made.

    When nothing is under way, `begun` is `acquired` + `joined` + the errors (`contended` to `failed`), and `acquired`
    is `released` + `detached` + `lost` + the locks that are held.
*/
struct lock_stats {
    std::uint64_t begun = 0;                 ///< Acquisitions that have begun, including resumptions.
    std::uint64_t acquired = 0;              ///< Locks that were acquired or resumed.
    /// Acquisitions that joined a lock which the manager shares; no node was asked.
    std::uint64_t joined = 0;
    std::uint64_t contended = 0;             ///< Acquisitions and resumptions that ended with `errc::contended` …
    std::uint64_t no_quorum = 0;             ///< … and so on.
    std::uint64_t validity_exhausted = 0;
    std::uint64_t quarantined = 0;
    std::uint64_t cancelled = 0;
    /// … with any other error: out of memory, or a lost lock was to be resumed.
    std::uint64_t failed = 0;
    std::uint64_t released = 0;              ///< Locks that ended without a loss: see `events::released`.
    std::uint64_t detached = 0;              ///< Locks whose keys were left to another process: `lock::detach`.
    std::uint64_t lost = 0;                  ///< Locks that were held and could not be kept.

    histogram time_to_acquire{};             ///< From the call to the lock; as many as `acquired` + `joined`.
    /// The part of it before the round that was won: for holders and connections.
    histogram time_waited{};
    histogram time_to_fail{};                ///< From the call to the error.
    histogram time_held{};                   ///< From the acquisition to the end: released, detached or lost.
    /// The validity left when locks were released. Zero: the work took too long.
    histogram validity_left{};

    /// Adds another set of statistics.
    lock_stats& operator+=(lock_stats const& other)
    {
        begun += other.begun, acquired += other.acquired, joined += other.joined;
        contended += other.contended, no_quorum += other.no_quorum, validity_exhausted += other.validity_exhausted;
        quarantined += other.quarantined, cancelled += other.cancelled, failed += other.failed;
        released += other.released, detached += other.detached, lost += other.lost;
        time_to_acquire += other.time_to_acquire, time_waited += other.time_waited, time_to_fail += other.time_to_fail;
        time_held += other.time_held, validity_left += other.validity_left;
        return *this;
    }
};

/// The statistics of one group.
struct group_stats : lock_stats {
    std::string name{};                      ///< `acquire_options::group`. Empty: acquisitions without a group.
};

/** A snapshot of counters since the manager was made, and of the present load. The members from @ref lock_stats count
    all groups together.

    Histograms are snapshots, too: `later.time_held - earlier.time_held` is about the locks that ended in between.
*/
struct stats : lock_stats {
    std::uint64_t rounds = 0;                ///< Rounds of acquisitions and resumptions, won or lost.
    std::uint64_t second_rounds = 0;         ///< With fencing: rounds because too few nodes took the proposed token.
    std::uint64_t renewals = 0;              ///< Automatic extensions that succeeded.
    std::uint64_t renewals_failed = 0;       ///< Automatic extensions that failed, and were or will be tried again.
    std::uint64_t healed = 0;                ///< Keys set again on nodes that had forgotten them.
    std::uint64_t cleaned = 0;               ///< Keys released in the background.
    std::size_t held = 0;                    ///< Locks held now.
    std::size_t waiting = 0;                 ///< Acquisitions under way now that may wait.
    std::size_t running = 0;                 ///< Operations under way or waiting now, including renewals.
    std::size_t cleaning = 0;                ///< Keys still to be released in the background.
    /// Whether all nodes together were younger than `config::max_ttl`, and were taken for newly started.
    bool taken_for_new = false;
    std::vector<node_stats> nodes{};         ///< In the order of `config::nodes`.
    /// If `acquire_options::group` was used: first the acquisitions without a group, then each group. A lock that
    /// readers share counts in the group of the first of them.
    std::vector<group_stats> groups{};
};

}  // namespace redlock
