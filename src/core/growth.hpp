#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace redlock::core {

/// How often who wants several locks asks for all or nothing. If it was denied each time it keeps what it can get, in their order, and
/// grows: or whoever wants one of them only would be there first for ever.
inline constexpr std::size_t all_or_nothing = 3;

/// How many locks, from the first on, a quorum of nodes holds for us; @p ours: how many each of them does.
inline std::size_t kept_by_quorum(std::span<std::size_t const> ours, std::size_t quorum)
{
    std::vector<std::size_t> sorted(ours.begin(), ours.end());
    auto const last = sorted.begin() + static_cast<std::ptrdiff_t>(quorum - 1);
    std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
    return *last;
}

/// When who grows asks again at the latest, so that what it has kept stays: after a third of the ttl.
template <class TimePoint>
TimePoint growth_due(TimePoint asked, std::chrono::milliseconds ttl) noexcept
{
    return asked + std::chrono::nanoseconds(ttl) / 3;
}

}  // namespace redlock::core
