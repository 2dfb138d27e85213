#pragma once

#include <redlock/histogram.hpp>
#include <redlock/stats.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

namespace shop {

/** How long locks were waited for and held in the last two minutes: a series of percentiles, with a bounded length.

    @par Thread safety
    That of a std::deque.
*/
class lock_times {
public:
    static constexpr std::chrono::seconds step{1};
    static constexpr std::size_t window = 5;  ///< in steps
    static constexpr std::size_t points_max = 120;

    struct percentiles {
        double p50, p99;  ///< milliseconds, to the microsecond
    };
    /// About the locks that were acquired, or ended, in one window. Empty if there were none: zero would be a lie.
    struct point {
        std::optional<percentiles> wait, hold;
    };

    /// Call it each @ref step with the statistics of the manager. It adds the point of the window that ends now.
    void add(redlock::lock_stats const&);

    /// The latest one is the last.
    std::deque<point> const& points() const { return points_; }

private:
    struct snapshot {
        redlock::histogram wait, hold;
    };

    std::deque<snapshot> before_;  // of the latest window
    std::deque<point> points_;
};

}  // namespace shop
