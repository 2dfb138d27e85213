#include "lock_times.hpp"

#include <cmath>

namespace shop {

//[percentiles
namespace {

std::optional<lock_times::percentiles> percentiles_of(redlock::histogram const& durations)
{
    if (durations.count() == 0)
        return {};
    auto const ms = [&](double q) {
        return std::round(static_cast<double>(durations.quantile(q).count()) / 1e3) / 1e3;
    };
    return lock_times::percentiles{ms(0.5), ms(0.99)};
}

}  // namespace

void lock_times::add(redlock::lock_stats const& now)
{
    auto const earlier = before_.size() < window ? snapshot{} : before_.front();
    points_.push_back({percentiles_of(now.time_waited - earlier.wait), percentiles_of(now.time_held - earlier.hold)});
    before_.push_back({now.time_waited, now.time_held});
    if (before_.size() > window)
        before_.pop_front();
    if (points_.size() > points_max)
        points_.pop_front();
}
//]

}  // namespace shop
