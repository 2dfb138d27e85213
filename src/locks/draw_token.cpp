// How an acquisition comes to its fencing token.

#include "core/fencing.hpp"
#include "locks/acquisition.hpp"
#include "locks/explain.hpp"

#include <algorithm>
#include <cstdint>

namespace redlock::detail {

// Who shares a lock takes the number that a quorum of the nodes has; where there is none, it proposes one that it need not have for
// itself. It is not below any token that was complete before, and below any that is drawn later.
//
// Who has it alone draws one. Our fencing token is a number to which a quorum of the nodes has raised its counter for us. Any later
// acquisition meets one of them, where it must be higher. Only nodes that have granted count, so that tokens follow the locks.
task<acquisition::drawn> acquisition::draw_token(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    auto& state = *a.state_;
    auto const needed = state.quorum.nodes.quorum();
    auto& token = a.round_->grant()->fence;
    boost::container::small_vector<std::uint64_t, 9> raised;
    for (auto const& b : a.round_->ballots) {
        if (b.has_granted() && b.reply.fence != 0)
            raised.push_back(b.reply.fence);
    }
    token = core::common_counter(raised, needed);
    auto const highest = raised.empty() ? 0 : *std::max_element(raised.begin(), raised.end());
    if (highest > a.round_->command.fence)
        a.learn(highest);
    if (token != 0)
        co_return drawn();

    // Another client's clock is ahead of ours, or it asked at the same moment. So the nodes count on from what they have.
    auto const raise = make_recycled<round>(state.quorum, node_command::kind::raise, a.round_->grant(), a.options_.ttl);
    raise->command.fence = a.propose();
    for (auto const& b : a.round_->ballots) {
        if (!b.has_granted())
            raise->skip(b.node, b.answered ? b.cast() : vote::unknown);
    }
    ++a.second_rounds_;
    bump(state.count.second_rounds);
    a.raise_ = raise;
    co_await raise->gather();
    a.raise_.reset();

    core::fence_tally counters;
    for (auto const& b : raise->ballots) {
        if (b.has_granted())
            counters.add(b.reply.fence);
    }
    token = counters.highest();
    a.learn(token);
    if (auto const ec = a.outcome_of(*raise))
        co_return drawn{.ec = ec};
    bool const conflict = counters.agreed() < needed;
    co_return drawn{.ec = conflict ? make_error_code(errc::contended) : error_code(), .conflict = conflict};
}

void acquisition::learn(std::uint64_t counter)
{
    highest_ = std::max(highest_, counter);
    state_->proposals.learn(highest_, shown_name(resources));
}

std::uint64_t acquisition::propose()
{
    return std::min(std::max(state_->proposals.next(), highest_ + 1), core::fence_end - 1);
}

}  // namespace redlock::detail
