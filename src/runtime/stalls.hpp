#pragma once

#include <redlock/clock.hpp>
#include <redlock/histogram.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

namespace redlock::inline v1::runtime {

/** How late the alarms of a manager ring, and the latest stalls: times in which its event loop did not run it.

    A handler blocks the loop, or the process was paused. A stall was at least as long as the alarm was late. It was
    longer if it began before the alarm was due. On the strand, except where a comment says otherwise.
*/
class stalls {
public:
    void rang(clock::time_point due, clock::time_point now) noexcept;

    /// The longest of the latest stalls that ended after @p since, and began after @p untold; zero if there is none.
    clock::duration longest(clock::time_point since, clock::time_point untold) const noexcept;

    /// How late all alarms rang. Any thread.
    histogram lateness() const { return all_.snapshot(); }

private:
    struct stall {
        clock::time_point ended;
        clock::duration length{0};
    };

    histogram_recorder all_;
    std::array<stall, 8> latest_{};
    std::size_t next_ = 0;
};

/// A duration for people, such as `400 ms` or `1.02 s`.
std::string shown_time(clock::duration);

/// A sentence for people about a stall.
std::string about_stall(clock::duration);

}  // namespace redlock::runtime
