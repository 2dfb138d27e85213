#pragma once

#include "core/fencing.hpp"
#include "quorum/round.hpp"

#include <cstdint>
#include <memory>

namespace redlock::inline v0::detail {

// Our fencing token is a number to which a quorum of the nodes has raised its counter for us. Any later acquisition meets one of them,
// where it must be higher. Only nodes that have granted count, so that tokens follow the locks.

/// What the counters have come to on the nodes that have granted @p won.
struct raised_counters {
    std::uint64_t token = 0;    ///< 0: a quorum has not come to the same
    std::uint64_t highest = 0;
};
raised_counters counters_of(round const& won);

/// A second round, where another client's clock is ahead of ours, or it asked at the same moment: the nodes that have granted @p won count
/// on from what they have, and from @p proposal. @p m: whether it draws a number, or only sets the least that there is.
std::shared_ptr<round> make_raise(round const& won, std::uint64_t proposal, mode m);

/// What they have come to in that round.
core::fence_tally counters_after(round const& raise);

}  // namespace redlock::detail
