#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace redlock::core {

/// The smallest number of nodes of which two groups always share one: ⌊n/2⌋ + 1.
constexpr std::size_t majority(std::size_t nodes) noexcept { return nodes / 2 + 1; }

/// What each of a quorum of those who say @p each has at the least: the least of the @p quorum greatest. @p each is
/// reordered, and of not fewer than @p quorum.
template <class T>
T of_a_quorum(std::span<T> each, std::size_t quorum) noexcept
{
    auto const last = each.begin() + static_cast<std::ptrdiff_t>(quorum - 1);
    std::nth_element(each.begin(), last, each.end(), std::greater<>());
    return *last;
}

/// Which number comes most often in @p each, and how often. Of several the least; nothing: 0, and never.
struct most_frequent {
    std::uint32_t number = 0;
    std::size_t times = 0;
};
constexpr most_frequent most_frequent_of(std::span<std::uint32_t const> each) noexcept
{
    most_frequent most;
    for (auto const n : each) {
        auto const times = static_cast<std::size_t>(std::count(each.begin(), each.end(), n));
        if (times > most.times || (times == most.times && n < most.number))
            most = {n, times};
    }
    return most;
}

enum class verdict : std::uint8_t {
    open,  ///< The votes so far do not settle it.
    won,   ///< A quorum of all configured nodes has granted.
    lost,  ///< A quorum can no longer grant.
};

/** Counts the votes of one round.

    Of the configured nodes, never of those that can be reached: two partitions must not both win.
*/
class tally {
public:
    constexpr explicit tally(std::size_t nodes) noexcept : tally(nodes, majority(nodes)) {}

    /// @p quorum: a majority at the least.
    constexpr tally(std::size_t nodes, std::size_t quorum) noexcept : nodes_(nodes), quorum_(quorum) {}

    constexpr void grant() noexcept { grant(granted_ + 1); }
    /// Of those who want any of several: one more has granted, and @p same of all that have, one and the same. Only
    /// these count.
    constexpr void grant(std::size_t same) noexcept
    {
        ++grants_;
        granted_ = same;
    }
    constexpr void deny() noexcept { ++denied_; }
    constexpr void miss() noexcept { ++missed_; }

    constexpr core::verdict verdict() const noexcept
    {
        if (granted_ >= quorum_)
            return verdict::won;
        // Ties end here: with two against two of four, no vote is left that could make a quorum.
        return against() > nodes_ - quorum_ ? verdict::lost : verdict::open;
    }

    /// Whether denials alone make a quorum impossible, whatever the silent nodes would say.
    constexpr bool refused() const noexcept { return denied_ > nodes_ - quorum_; }

    /// Of a lost round: whether it was other holders that prevented the win. Otherwise it was the nodes: those that are
    /// missing leave no quorum, whatever the others say.
    constexpr bool contended() const noexcept { return missed_ <= nodes_ - quorum_; }

    /// Of a lost round: whether it would not be, had @p of those that are missing granted.
    constexpr bool lost_for_want_of(std::size_t of) const noexcept { return against() - of <= nodes_ - quorum_; }

    constexpr std::size_t granted() const noexcept { return granted_; }
    constexpr std::size_t quorum() const noexcept { return quorum_; }

private:
    constexpr std::size_t against() const noexcept { return denied_ + missed_ + grants_ - granted_; }

    std::size_t nodes_;
    std::size_t quorum_;
    std::size_t grants_ = 0;
    std::size_t granted_ = 0;  // of these, the same
    std::size_t denied_ = 0;
    std::size_t missed_ = 0;
};

}  // namespace redlock::core
