#pragma once

#include "events/stat_members.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace redlock::inline v1::events {

/// Adds to a counter. Only the strand writes the counter, so a load and a store suffice.
template <class T>
void bump(std::atomic<T>& counter, T by = 1) noexcept
{
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

/** The counters for the members of @p S, a public struct of statistics: `bump(count[&stats::rounds])`.

    A new statistic needs a line in S, its line in @ref stat_members, and the line that counts it. A member without a
    line there does not compile as an index. Only the strand writes; any thread may read.
*/
template <class S>
class member_counters {
    using members = stat_members<S>;

public:
    /// The line of a member in the table.
    template <class T>
    class place {
    public:
        consteval place(T S::*member) : place(of(member)) {}

        /// For a member that is known at run time only. It must have a line.
        static constexpr place of(T S::*member) { return place(line_of(member)); }

    private:
        friend member_counters;

        explicit constexpr place(std::size_t line) noexcept : line_(line) {}

        static constexpr std::size_t line_of(T S::*member)
        {
            auto const& all = table_of(member);
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (all[i] == member)
                    return i;
            }
            throw std::out_of_range("no line in the table");
        }

        std::size_t line_;
    };
    using counter = place<std::uint64_t>;

    std::atomic<std::uint64_t>& operator[](counter p) noexcept { return counters_[p.line_]; }
    histogram_recorder& operator[](place<histogram> p) noexcept { return histograms_[p.line_]; }

    void tell(S& to) const
    {
        for (std::size_t i = 0; i < counters_.size(); ++i)
            to.*members::counters[i] = counters_[i].load(std::memory_order_relaxed);
        for (std::size_t i = 0; i < histograms_.size(); ++i)
            to.*members::histograms[i] = histograms_[i].snapshot();
    }

private:
    static constexpr auto const& table_of(std::uint64_t S::*) noexcept { return members::counters; }
    static constexpr auto const& table_of(histogram S::*) noexcept { return members::histograms; }

    std::array<std::atomic<std::uint64_t>, members::counters.size()> counters_{};
    std::array<histogram_recorder, members::histograms.size()> histograms_{};
};

}  // namespace redlock::events
