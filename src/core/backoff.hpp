#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// A part of @p whole, drawn by the random @p bits: from zero to all of it.
inline std::chrono::nanoseconds part_of(std::chrono::nanoseconds whole, std::uint64_t bits) noexcept
{
    auto const fraction = static_cast<double>(bits >> 11) * 0x1.0p-53;  // 0 <= fraction < 1
    return std::chrono::nanoseconds(
        static_cast<std::chrono::nanoseconds::rep>(static_cast<double>(whole.count()) * fraction));
}

/** The pause after lost round number @p round (from 1), drawn by the random @p bits.

    Uniform between a quarter and the whole of a ceiling that doubles from 16 ms to 256 ms. The randomness takes
    apart contenders that split the votes between them; the lower bound keeps a pause above a round trip.
*/
inline std::chrono::nanoseconds pause_after(std::size_t round, std::uint64_t bits) noexcept
{
    using namespace std::chrono;
    auto const doublings = std::min<std::size_t>(round > 0 ? round - 1 : 0, 4);
    auto const ceiling = nanoseconds(milliseconds(16)) * (std::int64_t{1} << doublings);
    return ceiling / 4 + part_of(ceiling * 3 / 4, bits);
}

/** The pause of a contender that nobody will notify, drawn by the random @p bits. It was @p denied so often (from 1),
    the latest @p unchanged times because of the same holder.

    Uniform between a quarter and the whole of a ceiling. The ceiling is 64 ms divided by @p denied, from 4 to 24 ms, so
    that who has waited longest asks most often. It doubles while the same holder keeps the lock, up to 256 ms: asking
    often is of no use then, and costs the server.
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

/// Between which times a pause is drawn.
struct pause_range {
    std::chrono::milliseconds least;
    std::chrono::milliseconds most;
};

/** How long a candidate pauses whose body has failed @p failures times in a row (from 1): between half and the whole of
    a ceiling that doubles with each of them, from twice @p min on up to @p max; never below @p min.

    The randomness takes apart candidates that have failed together, as they do when what the body needs is away.
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

/** The pause after @p failures attempts in a row to connect: between half and the whole of a ceiling that doubles from
    10 ms to half a second, by a random @p fraction (0 <= fraction < 1), so that those whose server went at the same
    moment do not come back in step.
*/
inline std::chrono::nanoseconds reconnection_pause(std::size_t failures, double fraction) noexcept
{
    using namespace std::chrono;
    auto const ceiling = std::min(milliseconds(10) * (1 << std::min<std::size_t>(failures, 6)), reconnection_pause_max);
    return duration_cast<nanoseconds>(ceiling * (0.5 + fraction / 2));
}

/** How long a contender that has been woken waits before it asks.

    Others were woken at the same moment. Who has been denied more often, because it came earlier, asks earlier; and who
    asks first at all nodes has the votes of all. So it is between half and the whole of what a round takes, divided by
    how often it was @p denied (1 to 8), and doubled for each of the latest @p races: rounds in which the votes were
    split. At most sixteen times what a round takes, and 256 ms.
*/
inline std::chrono::nanoseconds delay_after(std::size_t denied, std::size_t races, std::chrono::nanoseconds round_trip,
                                            std::uint64_t bits) noexcept
{
    using namespace std::chrono;
    auto const unit = std::max<nanoseconds>(round_trip, 100us);
    auto const whole = unit * (std::int64_t{1} << std::min<std::size_t>(races, 8))
                       / static_cast<std::int64_t>(std::clamp<std::size_t>(denied, 1, 8));
    auto const ceiling = std::min({whole, unit * 16, nanoseconds(256ms)});
    return ceiling / 2 + part_of(ceiling / 2, bits);
}

inline constexpr std::chrono::milliseconds retry_min{1'000}, retry_max{60'000};

/** How much later to try again after attempt number @p attempt (from 1), drawn by the random @p bits: for who does not
    wait meanwhile.

    What was @p told, if that is more than zero; otherwise a second, doubled with each further attempt. In both cases a
    second at the least and a minute at the most, and up to a quarter on top: who failed at the same moment comes back
    at different ones, and not before what was told.
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
