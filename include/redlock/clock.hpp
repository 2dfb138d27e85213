#pragma once

#include <redlock/detail/api.hpp>

#include <chrono>

namespace redlock {

/** The clock that validity is counted by: `CLOCK_BOOTTIME`.

    It never jumps, and unlike `std::chrono::steady_clock` it goes on while the machine sleeps, as the
    time to live of a key on the servers does: a laptop that was closed for a minute finds its locks expired.
*/
struct clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<clock>;
    static constexpr bool is_steady = true;

    /// Time since the machine was started, sleep included. Never throws, never blocks.
    REDLOCK_API static time_point now() noexcept;
};

}  // namespace redlock
