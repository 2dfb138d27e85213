#pragma once

#include <chrono>
#include <cstddef>

namespace redlock::core {

/// How often who wants several locks asks for all or nothing. If it was denied each time it keeps what it can get, in
/// their order, and grows: or whoever wants one of them only would be there first for ever.
inline constexpr std::size_t all_or_nothing = 3;

/// When who grows asks again at the latest, so that what it has kept stays: after a third of the ttl.
template <class TimePoint>
TimePoint growth_due(TimePoint asked, std::chrono::milliseconds ttl) noexcept
{
    return asked + std::chrono::nanoseconds(ttl) / 3;
}

}  // namespace redlock::core
