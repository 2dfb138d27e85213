#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace redlock::core {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/** How much clocks may differ during @p ttl: ttl * factor + 2 ms.

    The 2 ms allow for the precision of the servers' expiry; see "Safety arguments" in
    https://redis.io/docs/latest/develop/use/patterns/distributed-locks/.
*/
inline nanoseconds drift(milliseconds ttl, double factor) noexcept
{
    return nanoseconds(static_cast<nanoseconds::rep>(static_cast<double>(nanoseconds(ttl).count()) * factor))
           + milliseconds(2);
}

/// Until when a lock with @p ttl is certainly valid, if nothing was sent before @p started.
template <class TimePoint>
TimePoint valid_until(TimePoint started, milliseconds ttl, double drift_factor) noexcept
{
    return started + ttl - drift(ttl, drift_factor);
}

/// @p from plus @p d, at most the maximum. Returns @p from if @p d is negative.
template <class TimePoint>
TimePoint later(TimePoint from, milliseconds d) noexcept
{
    auto const room = std::chrono::duration_cast<milliseconds>(TimePoint::max() - from);
    return d < milliseconds(0) ? from : d < room ? from + d : TimePoint::max();
}

/// Zero if the time is over; otherwise rounded up, so never zero.
template <class TimePoint>
milliseconds time_left(TimePoint until, TimePoint now) noexcept
{
    return until <= now ? milliseconds(0) : std::chrono::ceil<milliseconds>(until - now);
}

/// Until when a lock may be held that was requested at @p started. @p max_hold of zero: no limit.
template <class TimePoint>
TimePoint hold_until(TimePoint started, milliseconds max_hold) noexcept
{
    return max_hold > milliseconds(0) ? later(started, max_hold) : TimePoint::max();
}

/// The longest time that a lock can be held without an extension.
inline milliseconds time_to_work(milliseconds ttl, milliseconds max_hold) noexcept
{
    return max_hold > milliseconds(0) ? std::min(ttl, max_hold) : ttl;
}

/** How long before the end of its validity a lock counts as lost, so that its user has time to stop.

    The margin is 50 ms or a twentieth of the ttl, whichever is longer. At most a fifth of the ttl.
*/
inline milliseconds stop_margin(milliseconds ttl) noexcept
{
    return std::min(std::max(ttl / 20, milliseconds(50)), ttl / 5);
}

}  // namespace redlock::core
