#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace redlock::core {

/// The smallest size at which any two groups of nodes share a node: ⌊n/2⌋ + 1.
constexpr std::size_t majority(std::size_t nodes) noexcept { return nodes / 2 + 1; }

/// The largest value that at least @p quorum elements of @p each reach. Reorders @p each, which must have at least
/// @p quorum elements.
template <class T>
T of_a_quorum(std::span<T> each, std::size_t quorum) noexcept
{
    auto const last = each.begin() + static_cast<std::ptrdiff_t>(quorum - 1);
    std::nth_element(each.begin(), last, each.end(), std::greater<>());
    return *last;
}

/// The most frequent number in @p each, and how often it occurs. A tie goes to the smallest number. Both are 0 if
/// @p each is empty.
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

    A quorum is of all configured nodes, not of the reachable ones. Otherwise two partitions could both win.
*/
class tally {
public:
    constexpr explicit tally(std::size_t nodes) noexcept : nodes_(nodes), quorum_(majority(nodes)) {}

    constexpr void grant() noexcept { grant(granted_ + 1); }
    /// For an acquisition of any one of several keys: one more node has granted. @p same nodes have chosen the most
    /// frequent key; only these count.
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
        // A tie ends here: with two against two of four, no remaining vote can make a quorum.
        return against() > nodes_ - quorum_ ? verdict::lost : verdict::open;
    }

    /// Whether the denials alone prevent a quorum, regardless of the nodes that have not answered.
    constexpr bool refused() const noexcept { return denied_ > nodes_ - quorum_; }

    /// For a lost round: whether other holders were the reason. Otherwise so many votes are missing that no quorum was
    /// possible.
    constexpr bool contended() const noexcept { return missed_ <= nodes_ - quorum_; }

    /// For a lost round: whether it would not be lost if @p of missing nodes had granted.
    constexpr bool lost_for_want_of(std::size_t of) const noexcept { return against() - of <= nodes_ - quorum_; }

    constexpr std::size_t granted() const noexcept { return granted_; }
    constexpr std::size_t quorum() const noexcept { return quorum_; }

private:
    constexpr std::size_t against() const noexcept { return denied_ + missed_ + grants_ - granted_; }

    std::size_t nodes_;
    std::size_t quorum_;
    std::size_t grants_ = 0;
    std::size_t granted_ = 0;  // the grants that count: all, or those with the same key
    std::size_t denied_ = 0;
    std::size_t missed_ = 0;
};

}  // namespace redlock::core
