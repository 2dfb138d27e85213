#pragma once

#include "core/quorum.hpp"

#include <redlock/restart_guard.hpp>

#include <chrono>
#include <cstddef>
#include <span>

namespace redlock::core {

/// What is known of one node's server.
template <class TimePoint>
struct node_age {
    bool known = false;
    bool durable = false;
    bool restarted = false;
    TimePoint began{};  ///< at the latest
};

/// Whether the server of node @p n may have forgotten locks that are still valid.
template <class TimePoint>
bool is_young(node_age<TimePoint> const& n, std::chrono::milliseconds max_ttl, TimePoint now) noexcept
{
    return n.known && !n.durable && n.began + max_ttl > now;
}

/// Whether the server of node @p n remembers every lock that is still valid.
template <class TimePoint>
bool is_old(node_age<TimePoint> const& n, std::chrono::milliseconds max_ttl, TimePoint now) noexcept
{
    return n.known && !is_young(n, max_ttl, now);
}

/// Whether node @p n shows that its set was there before: its server is old, or took the place of an earlier one.
template <class TimePoint>
bool shows_earlier_set(node_age<TimePoint> const& n, std::chrono::milliseconds max_ttl, TimePoint now) noexcept
{
    return is_old(n, max_ttl, now) || (n.known && n.restarted);
}

/** Until when node @p i does not vote: a node that has forgotten a lock would grant it again, so it waits until every
    lock that it may have forgotten is over. That is Redis' "delayed restart", done by the client.

    A set that is young as a whole is taken for newly started, unless told to be strict: a majority is known to be
    young, and no node is known to be old or restarted. One such node shows that the set was there before, and that the
    young ones have restarted, together or one after the other.

    @return a time that is over, if it votes
*/
template <class TimePoint>
TimePoint quarantined_until(std::span<node_age<TimePoint> const> nodes, std::size_t i, restart_guard guard,
                            std::chrono::milliseconds max_ttl, TimePoint now) noexcept
{
    auto const& n = nodes[i];
    auto const end = n.began + max_ttl;
    if (guard == restart_guard::off || !is_young(n, max_ttl, now))
        return TimePoint::min();
    if (guard == restart_guard::strict || n.restarted)
        return end;
    std::size_t young = 0, earlier = 0;
    for (auto const& other : nodes) {
        young += is_young(other, max_ttl, now) && !other.restarted;
        earlier += shows_earlier_set(other, max_ttl, now);
    }
    return young >= majority(nodes.size()) && earlier == 0 ? TimePoint::min() : end;
}

}  // namespace redlock::core
