#pragma once

#include <chrono>
#include <cstddef>

namespace redlock::core {

/// How many rounds an acquisition of several locks asks for all or nothing. If other clients held a lock each time, the
/// acquisition then grows: it keeps the keys that it gets, in their order. Otherwise clients that want one of these
/// locks could starve it.
inline constexpr std::size_t all_or_nothing = 3;

/// When a growing acquisition must ask again to keep its keys: after a third of the ttl.
template <class TimePoint>
TimePoint growth_due(TimePoint asked, std::chrono::milliseconds ttl) noexcept
{
    return asked + std::chrono::nanoseconds(ttl) / 3;
}

}  // namespace redlock::core
