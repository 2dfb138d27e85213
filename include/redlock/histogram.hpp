#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace redlock::inline v1 {

namespace detail {

/// The buckets of a histogram: 16 of equal width for each power of two; below 2^11 ns each is 64 ns wide. So the middle
/// of a bucket differs from a duration in it by at most a 32nd, or by 32 ns.
struct histogram_buckets {
    /// 104 days in nanoseconds; longer ones count as that
    static constexpr std::uint64_t end = std::uint64_t(1) << 53;
    static constexpr std::size_t count = 704;

    static constexpr std::size_t of(std::chrono::nanoseconds d) noexcept
    {
        auto const ns = std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(d.count(), 0)), end - 1);
        auto const shift = static_cast<std::size_t>(std::bit_width(ns | 1024)) - 5;
        return (shift - 6) * 16 + static_cast<std::size_t>(ns >> shift);
    }

    static constexpr std::chrono::nanoseconds begin_of(std::size_t bucket) noexcept
    {
        return std::chrono::nanoseconds(bucket < 16 ? std::int64_t(bucket) << 6
                                                    : std::int64_t(16 + bucket % 16) << (bucket / 16 + 5));
    }

    static constexpr std::chrono::nanoseconds middle_of(std::size_t bucket) noexcept
    {
        return (begin_of(bucket) + begin_of(bucket + 1)) / 2;
    }
};

}  // namespace detail

/** Counts durations by their length: a value of at most 6 KB, for any number of durations.

    It covers zero to 104 days. Longer durations count as 104 days, negative ones as zero. A length is exact to a 32nd
    of itself, or to 32 ns if that is more. Counts and the sum are exact.

    `later - earlier`, two snapshots of one recorder, counts the durations in between. `one + other` counts those of
    several nodes or managers together.

    @par Thread safety
    A value: distinct objects are safe, and so are const functions of a shared one.
*/
class histogram {
public:
    /// The unit of lengths.
    using duration = std::chrono::nanoseconds;

    /// The number of durations.
    std::uint64_t count() const noexcept
    {
        std::uint64_t all = 0;
        for (auto const n : counts_)
            all += n;
        return all;
    }

    /// The sum of all durations.
    duration sum() const noexcept { return sum_; }

    /// The mean. Zero if there are no durations.
    duration mean() const noexcept
    {
        auto const n = count();
        return n == 0 ? duration::zero() : sum_ / static_cast<duration::rep>(n);
    }

    /// The length that a share of @p q of the durations does not exceed: 0 is the shortest, 0.5 the median, 1 the
    /// longest. Values below 0 count as 0, values above 1 as 1. The result is zero if there are no durations.
    duration quantile(double q) const noexcept
    {
        auto const n = count();
        auto const wanted = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(n));
        auto left = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, std::max<std::uint64_t>(n, 1));
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            if (counts_[i] >= left)
                return detail::histogram_buckets::middle_of(i);
            left -= counts_[i];
        }
        return duration::zero();
    }

    /// The number of durations that are shorter than @p d, as exactly as lengths are known.
    std::uint64_t count_below(duration d) const noexcept
    {
        auto const bucket = detail::histogram_buckets::of(d);
        auto const end =
            std::min(d < detail::histogram_buckets::middle_of(bucket) ? bucket : bucket + 1, counts_.size());
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < end; ++i)
            below += counts_[i];
        return below;
    }

    /// Removes the durations of @p earlier, a snapshot of the same recorder. With any other histogram, results stop at
    /// zero.
    histogram& operator-=(histogram const& earlier) noexcept
    {
        for (std::size_t i = 0; i < std::min(counts_.size(), earlier.counts_.size()); ++i)
            counts_[i] -= std::min(counts_[i], earlier.counts_[i]);
        sum_ -= std::min(sum_, earlier.sum_);
        return *this;
    }

    /// Adds the durations of @p other, such as those of another node.
    histogram& operator+=(histogram const& other)
    {
        counts_.resize(std::max(counts_.size(), other.counts_.size()));
        for (std::size_t i = 0; i < other.counts_.size(); ++i)
            counts_[i] += other.counts_[i];
        sum_ += other.sum_;
        return *this;
    }

    /// The durations between two snapshots of the same recorder.
    friend histogram operator-(histogram later, histogram const& earlier) noexcept { return later -= earlier; }

    /// The durations of both.
    friend histogram operator+(histogram one, histogram const& other) { return one += other; }

private:
    friend class histogram_recorder;

    std::vector<std::uint64_t> counts_;  // by bucket, without the empty ones at the end
    duration sum_{0};
};

/** Counts durations as they come, for @ref histogram : 6 KB, without mutexes or allocations.

    @par Thread safety
    One thread at a time may call @ref add. Any number of threads may call @ref snapshot at any time. No call blocks
    another.
*/
class histogram_recorder {
public:
    /// The unit of lengths.
    using duration = histogram::duration;

    /// Counts a duration. Negative ones count as zero.
    void add(duration d) noexcept
    {
        auto const bucket = buckets::of(d);
        raise(counts_[bucket], std::uint64_t(1));
        raise(sum_, std::max(d, duration::zero()).count());
        if (bucket >= end_.load(std::memory_order_relaxed))
            end_.store(bucket + 1, std::memory_order_relaxed);
    }

    /// All durations that were added, as a copy. One that is added meanwhile may be in it, or not, or only in its sum.
    histogram snapshot() const
    {
        histogram h;
        h.counts_.resize(end_.load(std::memory_order_relaxed));
        for (std::size_t i = 0; i < h.counts_.size(); ++i)
            h.counts_[i] = counts_[i].load(std::memory_order_relaxed);
        h.sum_ = duration(sum_.load(std::memory_order_relaxed));
        return h;
    }

private:
    using buckets = detail::histogram_buckets;

    // There is one writer.
    template <class T>
    static void raise(std::atomic<T>& counter, T by) noexcept
    {
        counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    }

    std::array<std::atomic<std::uint64_t>, buckets::count> counts_{};
    std::atomic<duration::rep> sum_{0};
    std::atomic<std::size_t> end_{0};  // buckets from here on are empty
};

}  // namespace redlock
