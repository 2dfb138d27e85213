#pragma once

#include <redlock/histogram.hpp>
#include <redlock/stats.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

namespace shop {

/** Percentiles of the wait and hold times of locks: a series of the last two minutes.

    @par Thread safety
    Like a std::deque.
*/
class lock_times {
public:
    static constexpr std::chrono::seconds step{1};
    static constexpr std::size_t window = 5;  ///< in steps
    static constexpr std::size_t points_max = 120;

    struct percentiles {
        double p50, p99;  ///< milliseconds, to the microsecond
    };
    /// The times of the locks that were acquired, or ended, in one window. Empty without locks: a zero would look like
    /// a measured time.
    struct point {
        std::optional<percentiles> wait, hold;
    };

    /// Call it each @ref step with the statistics of the manager. It adds the point for the window that ends now.
    void add(redlock::lock_stats const&);

    /// The last point is the latest.
    std::deque<point> const& points() const { return points_; }

private:
    struct snapshot {
        redlock::histogram wait, hold;
    };

    std::deque<snapshot> before_;  // the snapshots in the latest window
    std::deque<point> points_;
};

}  // namespace shop
