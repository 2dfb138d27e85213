#pragma once

#include <algorithm>
#include <chrono>

namespace redlock::core {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/** How much clocks may disagree during @p ttl: ttl * factor + 2 ms.

    The 2 ms stand for the servers' expiry precision; see "Safety arguments" in
    https://redis.io/docs/latest/develop/use/patterns/distributed-locks/.
*/
inline nanoseconds drift(milliseconds ttl, double factor) noexcept
{
    return nanoseconds(static_cast<nanoseconds::rep>(static_cast<double>(nanoseconds(ttl).count()) * factor))
         + milliseconds(2);
}

/// Until when a lock with @p ttl is certain, if nothing was sent before @p started.
template <class TimePoint>
TimePoint valid_until(TimePoint started, milliseconds ttl, double drift_factor) noexcept
{
    return started + ttl - drift(ttl, drift_factor);
}

/// @p d after @p from; the end of time if that is later.
template <class TimePoint>
TimePoint later(TimePoint from, milliseconds d) noexcept
{
    auto const room = std::chrono::duration_cast<milliseconds>(TimePoint::max() - from);
    return d < room ? from + d : TimePoint::max();
}

/** How long before the end of its validity a lock counts as lost, so that its user has time to stop.

    At least 50 ms or a twentieth of the ttl, as long as that leaves four fifths of the ttl to work in.
*/
inline milliseconds stop_margin(milliseconds ttl) noexcept
{
    return std::min(std::max(ttl / 20, milliseconds(50)), ttl / 5);
}

}  // namespace redlock::core
