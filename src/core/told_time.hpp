#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace redlock::core {

/// Servers tell no longer time than this: about ten years.
inline constexpr std::chrono::hours longest_time(10 * 365 * 24);

/// A time that a server has told as a number: at most @ref longest_time, and not less than its negative. So sums of a
/// few such times, and of points in time, do not overflow.
template <class Duration>
constexpr Duration told_time(std::int64_t number) noexcept
{
    constexpr auto limit = std::chrono::duration_cast<Duration>(longest_time).count();
    return Duration(std::clamp<std::int64_t>(number, -limit, limit));
}

}  // namespace redlock::core
