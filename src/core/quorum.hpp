#pragma once

#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// The smallest number of nodes of which two groups always share one: ⌊n/2⌋ + 1.
constexpr std::size_t majority(std::size_t nodes) noexcept
{
    return nodes / 2 + 1;
}

enum class verdict : std::uint8_t {
    open,  ///< The votes so far do not settle it.
    won,   ///< A majority of all configured nodes has granted.
    lost,  ///< A majority can no longer grant.
};

/** Counts the votes of one round.

    Of the configured nodes, never of those that can be reached: two partitions must not both win.
*/
class tally {
public:
    constexpr explicit tally(std::size_t nodes) noexcept : nodes_(nodes) {}

    constexpr void grant() noexcept { ++granted_; }
    constexpr void deny() noexcept { ++denied_; }
    constexpr void miss() noexcept { ++missed_; }

    constexpr core::verdict verdict() const noexcept
    {
        if (granted_ >= majority(nodes_))
            return verdict::won;
        // Ties end here: with two against two of four, no vote is left that could make a majority.
        auto const against = denied_ + missed_;
        return against > nodes_ - majority(nodes_) ? verdict::lost : verdict::open;
    }

    /// Whether denials alone make a majority impossible, whatever the silent nodes would say.
    constexpr bool refused() const noexcept { return denied_ > nodes_ - majority(nodes_); }

    /// Of a lost round: whether it was other holders that prevented the win. Otherwise it was the nodes: those that are
    /// missing leave no majority, whatever the others say.
    constexpr bool contended() const noexcept { return missed_ <= nodes_ - majority(nodes_); }

    constexpr std::size_t granted() const noexcept { return granted_; }

private:
    std::size_t nodes_;
    std::size_t granted_ = 0;
    std::size_t denied_ = 0;
    std::size_t missed_ = 0;
};

}  // namespace redlock::core
