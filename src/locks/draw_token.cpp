// How who has won a lock comes to a fencing token.

#include "locks/fencing_token.hpp"

#include "locks/acquisition.hpp"
#include "locks/explain.hpp"

#include <algorithm>
#include <cstdint>

namespace redlock::inline v0::detail {

raised_counters counters_of(round const& won)
{
    boost::container::small_vector<std::uint64_t, 9> raised;
    for (auto const& b : won.ballots) {
        if (b.has_granted() && b.reply.fence != 0)
            raised.push_back(b.reply.fence);
    }
    return {.token = core::common_counter(raised, won.quorum.nodes.quorum()),
            .highest = raised.empty() ? 0 : *std::max_element(raised.begin(), raised.end())};
}

std::shared_ptr<round> make_raise(round const& won, std::uint64_t proposal, mode m)
{
    auto raise = make_recycled<round>(won.quorum, node_command::kind::raise, won.grant(), won.command.ttl);
    raise->command.mode = m;
    raise->command.fence = proposal;
    for (auto const& b : won.ballots) {
        if (!b.has_granted())
            raise->skip(b.node, b.answered ? b.cast() : vote::unknown);
    }
    return raise;
}

core::fence_tally counters_after(round const& raise)
{
    core::fence_tally counters;
    for (auto const& b : raise.ballots) {
        if (b.has_granted())
            counters.add(b.reply.fence);
    }
    return counters;
}

// Who shares a lock takes the number that a quorum of the nodes has; where there is none, it proposes one that it need not have for
// itself. It is not below any token that was complete before, and below any that is drawn later. Who has it alone draws one.
task<acquisition::drawn> acquisition::draw_token(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    auto const raised = counters_of(*a.round_);
    auto& token = a.round_->grant()->fence;
    token = raised.token;
    if (raised.highest > a.round_->command.fence)
        a.learn(raised.highest);
    if (token != 0)
        co_return drawn();

    a.raise_ = make_raise(*a.round_, a.propose(), a.mode_on_nodes());
    ++a.second_rounds_;
    bump(a.state_->count.second_rounds);
    auto const raise = a.raise_;
    raise->timed = a.round_->timed;
    co_await raise->gather();
    a.raise_.reset();
    a.attempt_.decided = a.state_->now();

    auto const counters = counters_after(*raise);
    token = counters.highest();
    a.learn(counters.highest());
    auto const ec = a.outcome_of(*raise);
    bool const conflict = !ec && counters.agreed() < a.state_->quorum.nodes.quorum();
    drawn const result{.ec = conflict ? make_error_code(errc::contended) : ec, .conflict = conflict};
    a.tell(*raise, result.ec);
    co_return result;
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
