#pragma once

#include "result.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace redlock::bench {

/** Counts latencies in 36 KiB, with an error of less than 0.8 % for every percentile.

    The buckets are those of HdrHistogram by Gil Tene (http://hdrhistogram.org). Each power of two has 128 buckets of
    equal width, and below 256 ns each nanosecond has a bucket. So a reported value is never below the real one, and
    above it by less than 1/128. The largest value and the mean are exact.

    Values above @ref largest share the last bucket. Negative values count as zero. The mean is exact up to a sum of 584
    years.
*/
class histogram {
public:
    /// 73 minutes.
    static constexpr std::chrono::nanoseconds largest{(std::int64_t{1} << 42) - 1};

    /// Takes constant time and allocates nothing.
    void record(std::chrono::nanoseconds value) noexcept;

    /// Adds the values of @p other to this histogram.
    void add(histogram const& other) noexcept;

    void clear() noexcept { *this = {}; }

    std::uint64_t count() const noexcept { return count_; }

    /// This and the other figures are zero if no value was recorded.
    std::chrono::nanoseconds max() const noexcept;
    std::chrono::duration<double, std::nano> mean() const noexcept;

    /// The value that @p share (0 to 1) of the recorded values do not exceed. It is the upper end of its bucket, or the
    /// maximum if that is less. For share 0, it is the upper end of the first bucket that is not empty.
    std::chrono::nanoseconds at(double share) const noexcept;

    percentiles summary() const noexcept;

    /** Pairs of a share and the microseconds that it does not exceed, for an axis of log10(1 / (1 - share)).

        Each power of ten of 1 - share has ten points, from share 0 on. The last point is the maximum, at share
        (n - 1) / n of n values: n values show no larger share. Shares increase, and values never decrease.
    */
    std::vector<std::pair<double, double>> curve() const;

private:
    std::array<std::uint64_t, 36 * 128> buckets_{};
    std::uint64_t count_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t max_ = 0;
};

}  // namespace redlock::bench
