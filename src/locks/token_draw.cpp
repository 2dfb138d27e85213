#include "locks/token_draw.hpp"

#include "locks/explain.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>

namespace redlock::inline v1::locks {

std::uint64_t token_draw::number_in(quorum::round const& won)
{
    boost::container::small_vector<std::uint64_t, 9> raised;
    for (auto const& b : won.ballots) {
        if (b.has_granted() && b.reply.fence != 0)
            raised.push_back(b.reply.fence);
    }
    auto const highest = raised.empty() ? 0 : *std::max_element(raised.begin(), raised.end());
    if (highest > won.command.fence())
        learn(highest);
    return core::common_counter(raised, won.quorum.nodes.quorum());
}

std::shared_ptr<quorum::round> token_draw::second_round(quorum::round const& won, mode m)
{
    quorum::round_command command(commands::raise{.fence = propose()}, won.grant(), won.command.ttl);
    command.command.mode = m;
    for (auto const& b : won.ballots) {
        if (!b.has_granted())
            command.skip(b.node, b.answered ? b.cast() : vote::unknown);
    }
    auto raise = quorum::make_round(won.quorum, std::move(command));
    raise->timed = won.timed;
    ++second_rounds_;
    events::bump(manager_.count[&stats::second_rounds]);
    return raise;
}

std::uint64_t token_draw::number_after(quorum::round const& raise)
{
    core::fence_tally counters;
    for (auto const& b : raise.ballots) {
        if (b.has_granted())
            counters.add(b.reply.fence);
    }
    learn(counters.highest());
    return counters.agreed() < raise.quorum.nodes.quorum() ? 0 : counters.highest();
}

void token_draw::learn(std::uint64_t counter)
{
    highest_ = std::max(highest_, counter);
    manager_.proposals.learn(highest_, events::shown_name(resources_));
}

}  // namespace redlock::locks
