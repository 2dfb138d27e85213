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

/** Until when node @p i does not vote: a node that has forgotten a lock would grant it again, so it waits until every lock
    that it may have forgotten is over. That is Redis' "delayed restart", done by the client.

    A set that is young as a whole is taken for newly started, unless told to be strict. Young nodes vote only if they are a
    majority: as long as it is not known that they are, the others could be old, and this one restarted.

    @return a time that is over, if it votes
*/
template <class TimePoint>
TimePoint quarantined_until(std::span<node_age<TimePoint> const> nodes, std::size_t i, restart_guard guard,
                            std::chrono::milliseconds max_ttl, TimePoint now) noexcept
{
    auto const& n = nodes[i];
    auto const end = n.began + max_ttl;
    if (guard == restart_guard::off || !n.known || n.durable || end <= now)
        return TimePoint::min();
    if (guard == restart_guard::strict || n.restarted)
        return end;
    std::size_t young = 0;
    for (auto const& other : nodes)
        young += other.known && !other.durable && !other.restarted && other.began + max_ttl > now;
    return young >= majority(nodes.size()) ? TimePoint::min() : end;
}

}  // namespace redlock::core
