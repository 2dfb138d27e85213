#include "histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace redlock::bench {

using std::chrono::nanoseconds;

namespace {

constexpr int sub_bits = 7;  // 128 buckets for each power of two

// The leading eight bits of a value choose the bucket within its power of two; the number of further bits is the power.
constexpr std::size_t bucket_of(std::uint64_t value) noexcept
{
    int const dropped = std::max(static_cast<int>(std::bit_width(value)) - (sub_bits + 1), 0);
    return (static_cast<std::size_t>(dropped) << sub_bits) + static_cast<std::size_t>(value >> dropped);
}

constexpr std::uint64_t upper_end(std::size_t bucket) noexcept
{
    auto const dropped = std::max<std::size_t>(bucket >> sub_bits, 1) - 1;
    auto const leading = std::uint64_t{bucket} - (dropped << sub_bits);
    return ((leading + 1) << dropped) - 1;
}

double in_microseconds(std::chrono::duration<double, std::micro> d) { return d.count(); }

}  // namespace

void histogram::record(nanoseconds value) noexcept
{
    constexpr auto limit = static_cast<std::uint64_t>(largest.count());
    static_assert(bucket_of(limit) + 1 == std::tuple_size_v<decltype(buckets_)>);
    auto const ns = static_cast<std::uint64_t>(std::max(value, nanoseconds::zero()).count());
    ++buckets_[bucket_of(std::min(ns, limit))];
    ++count_;
    sum_ += ns;
    max_ = std::max(max_, ns);
}

void histogram::add(histogram const& other) noexcept
{
    for (std::size_t i = 0; i < buckets_.size(); ++i)
        buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
}

nanoseconds histogram::max() const noexcept { return nanoseconds(max_); }

std::chrono::duration<double, std::nano> histogram::mean() const noexcept
{
    return std::chrono::duration<double, std::nano>(
        count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_));
}

nanoseconds histogram::at(double share) const noexcept
{
    // In floating point, 0.07 * 100 is a little above 7. nextafter keeps ceil from returning 8.
    auto const wanted = std::ceil(std::nextafter(share * static_cast<double>(count_), 0));
    auto const rank = std::clamp(wanted, 1.0, std::max(static_cast<double>(count_), 1.0));
    double seen = 0;
    for (std::size_t i = 0; i + 1 < buckets_.size(); ++i) {
        seen += static_cast<double>(buckets_[i]);
        if (seen >= rank)
            return nanoseconds(std::min(upper_end(i), max_));
    }
    return max();
}

percentiles histogram::summary() const noexcept
{
    return {.p50 = in_microseconds(at(0.5)),
            .p90 = in_microseconds(at(0.9)),
            .p99 = in_microseconds(at(0.99)),
            .p999 = in_microseconds(at(0.999)),
            .max = in_microseconds(max()),
            .mean = in_microseconds(mean())};
}

std::vector<std::pair<double, double>> histogram::curve() const
{
    std::vector<std::pair<double, double>> points;
    if (count_ == 0)
        return points;
    auto const n = static_cast<double>(count_);
    auto const steps = 10 * std::log10(n) - 0.01;  // with ten values, the tenth step is the maximum
    for (int i = 0; i < steps; ++i) {
        auto const share = 1 - std::pow(10, -i / 10.0);
        points.emplace_back(share, in_microseconds(at(share)));
    }
    points.emplace_back((n - 1) / n, in_microseconds(max()));
    return points;
}

}  // namespace redlock::bench
