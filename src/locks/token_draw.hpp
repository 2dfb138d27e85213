#pragma once

#include "core/fencing.hpp"
#include "locks/manager_state.hpp"
#include "quorum/round.hpp"

#include <redlock/resource_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace redlock::inline v0::locks {

/** How a client that has won a lock comes to a fencing token.

    The token is a number to which a quorum of the nodes has raised its counter for us. Any later acquisition meets one
    of these nodes, where its number must be higher. Only nodes that have granted count, so that tokens follow the
    locks.

    A reader takes the number that a quorum of the nodes has. If there is none, it proposes one that it need not have
    for itself. That is not below any token that was complete before, and below any that is drawn later. A writer draws
    a number of its own.
*/
class token_draw {
public:
    /// @param of must outlive this, as must the manager
    token_draw(manager_state& m, resource_set const& of) : manager_(m), resources_(of) {}

    /// What the next round proposes: more than any counter that this has seen.
    std::uint64_t propose() { return std::min(std::max(manager_.proposals.next(), highest_ + 1), core::fence_end - 1); }

    /// The number that a quorum has reached in the round that has @p won. 0: none, so a second round is needed.
    std::uint64_t number_in(quorum::round const& won);

    /// A second round, if another client's clock is ahead of ours, or it asked at the same moment. The nodes that have
    /// granted @p won count on from what they have, and from a new proposal. @p m: whether it draws a number, or only
    /// sets the least that there is.
    std::shared_ptr<quorum::round> second_round(quorum::round const& won, mode m);

    /// The number that a quorum has reached in that round. 0: the nodes' counters have reached different numbers.
    std::uint64_t number_after(quorum::round const& raise);

    std::size_t second_rounds() const noexcept { return second_rounds_; }

private:
    void learn(std::uint64_t counter);

    manager_state& manager_;
    resource_set const& resources_;
    std::uint64_t highest_ = 0;  ///< of the nodes' counters, as far as known
    std::size_t second_rounds_ = 0;
};

}  // namespace redlock::locks
