#pragma once

#include <redlock/error.hpp>

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
};

/// Counters since the manager was made, and the present load. A snapshot.
struct stats {
    std::uint64_t acquired = 0;              ///< Or resumed.
    std::uint64_t joined = 0;                ///< Acquisitions that were given a lock which the manager shares already; no node was asked.
    std::uint64_t rounds = 0;                ///< Rounds of acquisitions, won or lost, resumed ones among them.
    std::uint64_t second_rounds = 0;         ///< Of acquisitions with fencing: too few nodes took the proposed token.
    std::uint64_t contended = 0;             ///< Acquisitions, resumed ones among them, that ended with `errc::contended` …
    std::uint64_t no_quorum = 0;             ///< … and so on.
    std::uint64_t validity_exhausted = 0;
    std::uint64_t quarantined = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t released = 0;
    std::uint64_t detached = 0;              ///< Locks whose keys were left to another process: `lock::detach`.
    std::uint64_t lost = 0;                  ///< Locks that were held and could not be kept.
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
};

}  // namespace redlock
