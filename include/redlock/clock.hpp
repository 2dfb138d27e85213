#pragma once

#include <redlock/detail/api.hpp>

#include <chrono>

namespace redlock::inline v1 {

/** The clock that measures validity: `CLOCK_BOOTTIME`.

    It never jumps. Unlike `std::chrono::steady_clock` it goes on while the machine sleeps, as the time to live of keys
    on the servers does. After a laptop was closed for a minute, its locks have expired.
*/
struct clock {
    using duration = std::chrono::nanoseconds;          ///< A length of time.
    using rep = duration::rep;                          ///< The number type of durations.
    using period = duration::period;                    ///< The unit of durations: a nanosecond.
    using time_point = std::chrono::time_point<clock>;  ///< A moment, counted from the start of the machine.
    static constexpr bool is_steady = true;             ///< The clock never jumps.

    /// The time since the machine was started, including sleep. Never throws, never blocks. May be called from any
    /// thread.
    REDLOCK_API static time_point now() noexcept;
};

}  // namespace redlock
