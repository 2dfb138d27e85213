#pragma once

#include "core/fencing.hpp"
#include "locks/manager_state.hpp"
#include "quorum/round.hpp"

#include <redlock/resource_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace redlock::inline v1::locks {

/** How a client that has won a lock gets a fencing token.

    The token is a number to which a quorum of the nodes has raised its counter for this client. Any later acquisition
    meets one of these nodes, where its number must be higher. Only nodes that have granted count, so tokens follow the
    order of the locks.

    A reader takes the number that a quorum of the nodes has. If there is none, the reader proposes one, which other
    readers may get, too. This number is not below any token that was complete before, and below any token that is drawn
    later. A writer draws a number of its own.
*/
class token_draw {
public:
    /// @param of must outlive this, as must the manager
    token_draw(manager_state& m, resource_set const& of) : manager_(m), resources_(of) {}

    /// The proposal of the next round: more than any counter seen so far.
    std::uint64_t propose() { return std::min(std::max(manager_.proposals.next(), highest_ + 1), core::fence_end - 1); }

    /// Call this after each round, so that the next proposal is high enough.
    void learn_from(quorum::round const& asked);

    /// The number that a quorum reached in the round @p won. 0: none, so a second round is needed.
    static std::uint64_t number_in(quorum::round const& won);

    /// A second round, needed if another client's clock is ahead, or if both clients asked at the same moment. The
    /// nodes that granted @p won count on from their counters and from a new proposal.
    /// @param m exclusive: the nodes add one; shared: they only raise lower counters to the proposal
    std::shared_ptr<quorum::round> second_round(quorum::round const& won, mode m);

    /// The number that a quorum reached in the round @p raise. 0: the nodes' counters differ.
    static std::uint64_t number_after(quorum::round const& raise);

    std::size_t second_rounds() const noexcept { return second_rounds_; }

private:
    manager_state& manager_;
    resource_set const& resources_;
    std::uint64_t highest_ = 0;  ///< the highest counter that a node reported
    std::size_t second_rounds_ = 0;
};

}  // namespace redlock::locks
