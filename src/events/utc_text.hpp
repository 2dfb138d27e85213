#pragma once

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <string>
#include <type_traits>

namespace redlock::inline v1::events {

/// From this time on, a year has five digits, so it has no @ref utc_text.
inline constexpr std::chrono::seconds year_10000{253'402'300'800};

/// A time for people and programs: `2026-11-27T10:04:12Z`. If @p Duration is microseconds, with six more digits:
/// `2026-11-27T10:04:12.000345Z`. Shorter than a second is cut off otherwise.
template <class Duration>
std::string utc_text(std::chrono::time_point<std::chrono::system_clock, Duration> time)
{
    auto const second = std::chrono::floor<std::chrono::seconds>(time);
    auto text =
        fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(second.time_since_epoch().count())));
    if constexpr (std::is_same_v<Duration, std::chrono::microseconds>)
        text += fmt::format(".{:06}", (time - second).count());
    return text + 'Z';
}

}  // namespace redlock::events
