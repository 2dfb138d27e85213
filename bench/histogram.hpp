#pragma once

#include "result.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace redlock::bench {

/** Counts latencies so finely that every percentile of millions of them is known, in 36 KiB.

    The buckets are those of HdrHistogram by Gil Tene (http://hdrhistogram.org): each power of two is divided into 128
    of equal width, and below 256 ns every nanosecond has one of its own. What is told about a value is therefore never
    less than the value, and more by less than 1/128 of it (0.8 %). Largest value and mean are exact.

    What is above @ref largest shares the last bucket, of which only the largest value is known; what is negative counts
    as zero. The mean is exact up to a sum of 584 years.
*/
class histogram {
public:
    /// 73 minutes.
    static constexpr std::chrono::nanoseconds largest{(std::int64_t{1} << 42) - 1};

    /// Takes constant time and allocates nothing.
    void record(std::chrono::nanoseconds value) noexcept;

    /// As if all that was recorded there had been recorded here as well.
    void add(histogram const& other) noexcept;

    void clear() noexcept { *this = {}; }

    std::uint64_t count() const noexcept { return count_; }

    /// Zero, like the other figures, if nothing was recorded.
    std::chrono::nanoseconds max() const noexcept;
    std::chrono::duration<double, std::nano> mean() const noexcept;

    /// The value that @p share (0 to 1) of the recorded ones do not exceed: the upper end of its bucket, or the maximum
    /// if that is less. Of zero: the upper end of the first bucket that is not empty.
    std::chrono::nanoseconds at(double share) const noexcept;

    percentiles summary() const noexcept;

    /** Shares and the microseconds that they do not exceed, for an axis of log10(1 / (1 - share)).

        Ten points for each power of ten in 1 - share, from share 0 on. The last is the maximum, at share (n - 1) / n of
        n values: what one in n exceeds is as far as they can tell. Shares increase, and values never decrease.
    */
    std::vector<std::pair<double, double>> curve() const;

private:
    std::array<std::uint64_t, 36 * 128> buckets_{};
    std::uint64_t count_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t max_ = 0;
};

}  // namespace redlock::bench
