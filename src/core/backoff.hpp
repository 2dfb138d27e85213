#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// A random part of @p whole, from zero to all of it. @p bits are random.
inline std::chrono::nanoseconds part_of(std::chrono::nanoseconds whole, std::uint64_t bits) noexcept
{
    auto const fraction = static_cast<double>(bits >> 11) * 0x1.0p-53;  // 0 <= fraction < 1
    return std::chrono::nanoseconds(
        static_cast<std::chrono::nanoseconds::rep>(static_cast<double>(whole.count()) * fraction));
}

/** The pause after lost round number @p round (from 1). @p bits are random.

    Uniform between a quarter and the whole of a ceiling, which doubles from 16 ms to 256 ms. The jitter separates
    contenders that split the votes. The lower bound keeps the pause above a round trip.
*/
inline std::chrono::nanoseconds pause_after(std::size_t round, std::uint64_t bits) noexcept
{
    using namespace std::chrono;
    auto const doublings = std::min<std::size_t>(round > 0 ? round - 1 : 0, 4);
    auto const ceiling = nanoseconds(milliseconds(16)) * (std::int64_t{1} << doublings);
    return ceiling / 4 + part_of(ceiling * 3 / 4, bits);
}

/** How long a contender pauses if no node will notify it. @p bits are random.

    @param denied how often the contender was denied (from 1)
    @param unchanged how often in a row, up to now, the same holder was the reason

    Uniform between a quarter and the whole of a ceiling. The ceiling is 64 ms divided by @p denied, from 4 to 24 ms, so
    the contender that has waited longest asks most often. It doubles while the same holder keeps the lock, up to 256
    ms: frequent requests are useless then, and cost server time.
*/
inline std::chrono::nanoseconds pause_after_denial(std::size_t denied, std::size_t unchanged,
                                                   std::uint64_t bits) noexcept
{
    using namespace std::chrono;
    auto const share = nanoseconds(64ms) / static_cast<std::int64_t>(std::clamp<std::size_t>(denied, 1, 64));
    auto const soon = std::clamp<nanoseconds>(share, 4ms, 24ms);
    auto const ceiling = std::min<nanoseconds>(soon * (std::int64_t{1} << std::min<std::size_t>(unchanged, 6)), 256ms);
    return ceiling / 4 + part_of(ceiling * 3 / 4, bits);
}

/// The bounds of a random pause.
struct pause_range {
    std::chrono::milliseconds least;
    std::chrono::milliseconds most;
};

/** How long a candidate pauses after @p failures failures of its body in a row (from 1).

    Uniform between half and the whole of a ceiling, never below @p min. The ceiling doubles with each failure, from
    twice @p min up to @p max. The jitter separates candidates that failed together, for example because of the same
    outage.
*/
inline pause_range pause_after_failure(std::size_t failures, std::chrono::milliseconds min,
                                       std::chrono::milliseconds max) noexcept
{
    auto ceiling = min;
    for (std::size_t i = 0; i < failures && ceiling < max; ++i)
        ceiling = std::min(2 * ceiling, max);
    return {std::max(min, ceiling / 2), ceiling};
}

/// The longest pause between two attempts to connect to a server.
constexpr std::chrono::milliseconds reconnection_pause_max{500};

/** The pause after @p failures failed attempts in a row to connect.

    Between half and the whole of a ceiling, which doubles from 10 ms to half a second. @p fraction is random, from 0 to
    below 1. The jitter separates clients that lost their server at the same moment.
*/
inline std::chrono::nanoseconds reconnection_pause(std::size_t failures, double fraction) noexcept
{
    using namespace std::chrono;
    auto const ceiling = std::min(milliseconds(10) * (1 << std::min<std::size_t>(failures, 6)), reconnection_pause_max);
    return duration_cast<nanoseconds>(ceiling * (0.5 + fraction / 2));
}

/** How long a contender waits before it asks, after a node has notified it.

    Other contenders were notified at the same moment. If one asks first at all nodes, it gets all votes. So a contender
    that was denied more often, because it came earlier, must ask earlier.

    Uniform between half and the whole of a ceiling. The ceiling is @p round_trip divided by @p denied (1 to 8). It
    doubles for each of the latest @p races, which are rounds whose votes were split. Before that come two round trips,
    but at most 64 ms, for each contender that is known to be @p ahead (0 to 3). All together, at most 16 round trips,
    and 256 ms.
*/
inline std::chrono::nanoseconds delay_after(std::size_t denied, std::size_t races, std::size_t ahead,
                                            std::chrono::nanoseconds round_trip, std::uint64_t bits) noexcept
{
    using namespace std::chrono;
    auto const unit = std::max<nanoseconds>(round_trip, 100us);
    auto const whole = unit * (std::int64_t{1} << std::min<std::size_t>(races, 8))
                       / static_cast<std::int64_t>(std::clamp<std::size_t>(denied, 1, 8));
    constexpr nanoseconds most = 256ms;
    auto const turn = std::min(unit * 2, most / 4) * static_cast<std::int64_t>(std::min<std::size_t>(ahead, 3));
    auto const ceiling = std::min({whole, unit * 16 - turn, most - turn});
    return turn + ceiling / 2 + part_of(ceiling / 2, bits);
}

/** How long a contender stands by if it is not called. @p bits are random.

    Uniform between 0.4 and 0.8 s. Nodes call it when others before it get the lock. They do not notice when these give
    up or die, so it looks for itself. A node that has called it believes in it for a second.
*/
inline std::chrono::nanoseconds stand_by(std::uint64_t bits) noexcept
{
    using namespace std::chrono;
    return nanoseconds(400ms) + part_of(400ms, bits);
}

/** How long after a denial a contender asks again at the earliest, although a node has notified it.

    The server may forget whom to notify, or somebody may write the key, while the same holder keeps the lock. If each
    notification made the contender ask, it would cause the next one. So the time doubles with each in succession, from
    4 ms at the second up to 256 ms.

    @param vain how often in a row a contender that was notified was denied because of the same holder
*/
inline std::chrono::milliseconds time_between_vain(std::size_t vain) noexcept
{
    return std::chrono::milliseconds(vain < 2 ? 0 : 1 << std::min<std::size_t>(vain, 8));
}

inline constexpr std::chrono::milliseconds retry_min{1'000}, retry_max{60'000};

/** How much later to try again after failed attempt number @p attempt (from 1), for a caller that acquires without
    waiting. @p bits are random.

    The pause is @p told if that is more than zero, otherwise a second that doubles with each attempt. It is at least a
    second and at most a minute. Jitter adds up to a quarter: callers that failed together come back at different
    moments, and not before @p told.
*/
inline std::chrono::milliseconds retry_after(std::chrono::milliseconds told, std::size_t attempt,
                                             std::uint64_t bits) noexcept
{
    using namespace std::chrono;
    auto const doublings = std::min<std::size_t>(attempt > 0 ? attempt - 1 : 0, 6);
    auto const pause = retry_min * (std::int64_t{1} << doublings);
    auto const least = std::clamp(told.count() > 0 ? told : pause, retry_min, retry_max);
    return least + floor<milliseconds>(part_of(least / 4, bits));
}

}  // namespace redlock::core
