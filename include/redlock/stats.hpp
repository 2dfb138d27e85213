#pragma once

#include <redlock/error.hpp>
#include <redlock/histogram.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock {

/// The state of one node, as the manager sees it.
struct node_stats {
    std::string name{};                      ///< The node's address, without user and password.
    bool connected = false;                  ///< Whether it can vote right now.
    bool tells = false;                      ///< Whether it tells of changes, so that who waits need not ask now and then.
    std::uint64_t granted = 0;               ///< Its votes in acquisitions and extensions …
    std::uint64_t denied = 0;
    std::uint64_t unknown = 0;               ///< … including those that nobody waited for any more.
    std::uint64_t connections = 0;           ///< How many it has made.
    error_code last_error{};                 ///< The latest trouble; stays after it is over.
    std::string last_message{};              ///< Its words, without secrets.
    std::chrono::milliseconds quarantine{0}; ///< For how long it does not vote yet, having restarted. Zero: it votes.
    /// From asking it to its answer, the time for a connection included: of releases, of renewals, and of acquisitions that have a report
    /// or an observer. (For others the clock would have to be read once more.) What was not answered does not count.
    histogram round_trip{};
};

/** What has become of acquisitions, and of the locks that they won. Counters since the manager was made.

    At rest they balance: `begun` is `acquired`, `joined` and what has ended with an error, that is `contended` to `failed`; and `acquired`
    is `released`, `detached`, `lost` and what is held.
*/
struct lock_stats {
    std::uint64_t begun = 0;                 ///< Acquisitions, resumed ones among them.
    std::uint64_t acquired = 0;              ///< Or resumed.
    std::uint64_t joined = 0;                ///< Acquisitions that were given a lock which the manager shares already; no node was asked.
    std::uint64_t contended = 0;             ///< Acquisitions, resumed ones among them, that ended with `errc::contended` …
    std::uint64_t no_quorum = 0;             ///< … and so on.
    std::uint64_t validity_exhausted = 0;
    std::uint64_t quarantined = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t failed = 0;                ///< … with any other error: memory was short, or what was to be resumed was lost.
    std::uint64_t released = 0;              ///< Locks that were given back, or have run out forgotten, before they were lost.
    std::uint64_t detached = 0;              ///< Locks whose keys were left to another process: `lock::detach`.
    std::uint64_t lost = 0;                  ///< Locks that were held and could not be kept.

    histogram time_to_acquire{};             ///< From the call to the lock, of acquisitions that got one: as many as `acquired` and `joined`.
    histogram time_waited{};                 ///< Of the same, the part before the round that was won: for others, and for connections.
    histogram time_to_fail{};                ///< From the call to the outcome, of acquisitions that got none.
    histogram time_held{};                   ///< From the acquisition to the end, of locks that were released, detached or lost.
    histogram validity_left{};               ///< For how long locks would have been valid still when they were released. Zero: not any more.

    /// Those of both.
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

/// Those of one group.
struct group_stats : lock_stats {
    std::string name{};                      ///< `acquire_options::group`. Empty: of those without.
};

/** Counters since the manager was made, and the present load: a snapshot. What @ref lock_stats counts is of all groups together.

    Histograms are snapshots, too: `later.time_held - earlier.time_held` is of the locks that ended in between.
*/
struct stats : lock_stats {
    std::uint64_t rounds = 0;                ///< Rounds of acquisitions, won or lost, resumed ones among them.
    std::uint64_t second_rounds = 0;         ///< Of acquisitions with fencing: too few nodes took the proposed token.
    std::uint64_t renewals = 0;              ///< Automatic extensions that succeeded.
    std::uint64_t renewals_failed = 0;       ///< Automatic extensions that did not, and were or will be tried again.
    std::uint64_t healed = 0;                ///< Keys set again on nodes that had forgotten them.
    std::uint64_t cleaned = 0;               ///< Keys released in the background.
    std::size_t held = 0;                    ///< Locks held now.
    std::size_t waiting = 0;                 ///< Acquisitions that may wait, and that are under way now.
    std::size_t running = 0;                 ///< Operations under way or waiting now, renewals included.
    std::size_t cleaning = 0;                ///< Keys still to be released in the background.
    /// Whether the nodes were younger than `config::max_ttl` as a whole, and taken for newly started.
    bool taken_for_new = false;
    std::vector<node_stats> nodes{};         ///< In the order of `config::nodes`.
    /// Where `acquire_options::group` has been used: first what is of none, then each group. The lock that readers share counts as what the
    /// first of them said.
    std::vector<group_stats> groups{};
};

}  // namespace redlock
