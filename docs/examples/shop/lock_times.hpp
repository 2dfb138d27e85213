#pragma once

#include <redlock/histogram.hpp>
#include <redlock/stats.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <deque>
#include <optional>

namespace shop {

/** How long locks were waited for and held in the last two minutes: a series of percentiles, with a bounded length.

    Call @ref add each second. Each point is about the locks that were acquired, or ended, in the latest five seconds.

    @par Thread safety
    That of a std::deque.
*/
class lock_times {
public:
    static constexpr std::chrono::seconds step{1};
    static constexpr std::size_t window = 5;        ///< in steps
    static constexpr std::size_t points_max = 120;

    struct percentiles {
        double p50, p99;  ///< milliseconds, to the microsecond
    };
    /// Without locks there are no percentiles: zero would be a lie.
    struct point {
        std::optional<percentiles> wait, hold;
    };

    void add(redlock::lock_stats const& now)
    {
        auto const earlier = before_.size() < window ? snapshot{} : before_.front();
        points_.push_back({of(now.time_waited - earlier.wait), of(now.time_held - earlier.hold)});
        before_.push_back({now.time_waited, now.time_held});
        if (points_.size() > points_max)
            points_.pop_front();
        if (before_.size() > window)
            before_.pop_front();
    }

    /// The latest one is the last.
    std::deque<point> const& points() const { return points_; }

private:
    struct snapshot {
        redlock::histogram wait, hold;
    };

    static std::optional<percentiles> of(redlock::histogram const& durations)
    {
        if (durations.count() == 0)
            return {};
        auto const ms = [&](double q) { return std::round(static_cast<double>(durations.quantile(q).count()) / 1000) / 1000; };
        return percentiles{ms(0.5), ms(0.99)};
    }

    std::deque<snapshot> before_;  // of the latest steps
    std::deque<point> points_;
};

}  // namespace shop
