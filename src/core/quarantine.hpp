#pragma once

#include "core/quorum.hpp"

#include <redlock/restart_guard.hpp>

#include <chrono>
#include <cstddef>
#include <span>

namespace redlock::core {

/// The facts that are known about the server of a node.
template <class TimePoint>
struct node_age {
    bool known = false;
    bool durable = false;
    bool restarted = false;
    TimePoint began{};  ///< the latest possible start
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

/// Whether node @p n shows that its set existed before: its server is old, or has replaced an earlier server.
template <class TimePoint>
bool shows_earlier_set(node_age<TimePoint> const& n, std::chrono::milliseconds max_ttl, TimePoint now) noexcept
{
    return is_old(n, max_ttl, now) || (n.known && n.restarted);
}

/** Until when node @p i does not vote. If its server has forgotten a lock, it would grant that lock again. So the node
    waits until every lock has expired that its server may have forgotten. This is the "delayed restart" of the Redlock
    description, done by the client.

    If the whole set is young, it counts as newly started, except with `restart_guard::strict`. A set is young if a
    majority of its nodes is known to be young and no node is known to be old or restarted. One such node shows that the
    set existed before, so the young servers must have restarted.

    @return a time in the past if the node votes
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
