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

namespace redlock {

namespace detail {

/// Which durations a bucket of a histogram counts: 16 of equal width for each power of two, and of 64 ns below 2^11 ns. So who takes the
/// middle of a bucket for what is in it is wrong by a 32nd at the most, or by 32 ns.
struct histogram_buckets {
    static constexpr std::uint64_t end = std::uint64_t(1) << 53;  ///< 104 days, in nanoseconds; what is longer counts as that
    static constexpr std::size_t count = 704;

    static constexpr std::size_t of(std::chrono::nanoseconds d) noexcept
    {
        auto const ns = std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(d.count(), 0)), end - 1);
        auto const shift = static_cast<std::size_t>(std::bit_width(ns | 1024)) - 5;
        return (shift - 6) * 16 + static_cast<std::size_t>(ns >> shift);
    }

    static constexpr std::chrono::nanoseconds begin_of(std::size_t bucket) noexcept
    {
        return std::chrono::nanoseconds(bucket < 16 ? std::int64_t(bucket) << 6 : std::int64_t(16 + bucket % 16) << (bucket / 16 + 5));
    }

    static constexpr std::chrono::nanoseconds middle_of(std::size_t bucket) noexcept
    {
        return (begin_of(bucket) + begin_of(bucket + 1)) / 2;
    }
};

}  // namespace detail

/** How often durations of each length have come: a value, in at most 6 KB however many there were.

    Lengths are known within a 32nd of themselves, or 32 ns if that is more, from zero to 104 days; what is longer counts as that, and what is
    negative as zero. Counts and the sum are exact.

    Two snapshots of what goes on make one of what came in between: `later - earlier`. Those of several nodes or managers make one of all:
    `one + other`.

    @par Thread safety
    That of a std::vector.
*/
class histogram {
public:
    using duration = std::chrono::nanoseconds;

    /// How many there were.
    std::uint64_t count() const noexcept
    {
        std::uint64_t all = 0;
        for (auto const n : counts_)
            all += n;
        return all;
    }

    /// All together.
    duration sum() const noexcept { return sum_; }

    /// Zero if there were none.
    duration mean() const noexcept
    {
        auto const n = count();
        return n == 0 ? duration::zero() : sum_ / static_cast<duration::rep>(n);
    }

    /// What a share of @p q of them did not exceed: 0.5 is the median, 0 the shortest and 1 the longest. What is below 0 or above 1 counts as
    /// that. Zero if there were none.
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

    /// How many were shorter than @p d, as far as lengths are known.
    std::uint64_t count_below(duration d) const noexcept
    {
        auto const bucket = detail::histogram_buckets::of(d);
        auto const end = std::min(d < detail::histogram_buckets::middle_of(bucket) ? bucket : bucket + 1, counts_.size());
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < end; ++i)
            below += counts_[i];
        return below;
    }

    /// What came since @p earlier, a snapshot of the same. Of any other no less than nothing is left.
    histogram& operator-=(histogram const& earlier) noexcept
    {
        for (std::size_t i = 0; i < std::min(counts_.size(), earlier.counts_.size()); ++i)
            counts_[i] -= std::min(counts_[i], earlier.counts_[i]);
        sum_ -= std::min(sum_, earlier.sum_);
        return *this;
    }

    histogram& operator+=(histogram const& other)
    {
        counts_.resize(std::max(counts_.size(), other.counts_.size()));
        for (std::size_t i = 0; i < other.counts_.size(); ++i)
            counts_[i] += other.counts_[i];
        sum_ += other.sum_;
        return *this;
    }

    friend histogram operator-(histogram later, histogram const& earlier) noexcept { return later -= earlier; }
    friend histogram operator+(histogram one, histogram const& other) { return one += other; }

private:
    friend class histogram_recorder;

    std::vector<std::uint64_t> counts_;  // by bucket, without those that are empty at the end
    duration sum_{0};
};

/** What a @ref histogram is made from while durations come: 6 KB, without locks and allocations.

    @par Thread safety
    @ref add by one thread at a time, @ref snapshot by any number at any moment; nobody waits for anybody.
*/
class histogram_recorder {
public:
    using duration = histogram::duration;

    void add(duration d) noexcept
    {
        auto const bucket = buckets::of(d);
        raise(counts_[bucket], std::uint64_t(1));
        raise(sum_, std::max(d, duration::zero()).count());
        if (bucket >= end_.load(std::memory_order_relaxed))
            end_.store(bucket + 1, std::memory_order_relaxed);
    }

    /// All that has been added. What is added meanwhile may be in it, or not, or in its sum only.
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

    // Nobody else writes.
    template <class T>
    static void raise(std::atomic<T>& counter, T by) noexcept
    {
        counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    }

    std::array<std::atomic<std::uint64_t>, buckets::count> counts_{};
    std::atomic<duration::rep> sum_{0};
    std::atomic<std::size_t> end_{0};  // from there on all are empty
};

}  // namespace redlock
