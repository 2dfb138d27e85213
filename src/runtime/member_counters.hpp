#pragma once

#include <redlock/stats.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace redlock::inline v0::runtime {

/// Adds to a counter. Only the strand writes the counter, so a load and a store suffice.
template <class T>
void bump(std::atomic<T>& counter, T by = 1) noexcept
{
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

/** The counters for the members of @p S, a public struct of statistics: `bump(count[&stats::rounds])`.

    A new statistic needs a line in S, and the line that counts it. @ref tell does not change members that are not
    counted. Only the strand writes; any thread may read.

    @tparam Histograms the number of histograms, which are the last members of S
*/
template <class S, std::size_t Histograms = 0>
class member_counters {
    static constexpr std::size_t step = std::min(alignof(S), sizeof(std::uint64_t));  // i386 aligns to four bytes

public:
    std::atomic<std::uint64_t>& operator[](std::uint64_t S::*member) noexcept
    {
        return counters_[detail::offset_of(member) / step];
    }
    histogram_recorder& operator[](histogram S::*member) noexcept
    {
        return histograms_[(detail::offset_of(member) - first_histogram) / sizeof(histogram)];
    }

    void tell(S& to) const
    {
        for (std::size_t i = 0; i < counters_.size(); ++i) {
            if (auto const counted = counters_[i].load(std::memory_order_relaxed))
                to.*std::bit_cast<std::uint64_t S::*>(static_cast<std::ptrdiff_t>(i * step)) = counted;
        }
        auto histogram = histograms_.begin();
        detail::for_each_member<redlock::histogram, S>(first_histogram, sizeof(S),
                                                       [&](auto member) { to.*member = (histogram++)->snapshot(); });
    }

private:
    static constexpr std::size_t first_histogram = sizeof(S) - Histograms * sizeof(histogram);

    std::array<std::atomic<std::uint64_t>, first_histogram / step> counters_{};
    std::array<histogram_recorder, Histograms> histograms_{};
};

}  // namespace redlock::runtime
