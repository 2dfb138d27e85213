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
    return counters.agreed() < raise.quorum.nodes.quorum() ? 0 : counters.highest();
}

// If the first round reached its proposal and no more, nobody else is ahead. A second round may have to be repeated,
// and its proposal must then be higher.
void token_draw::learn_from(quorum::round const& asked)
{
    std::uint64_t highest = 0;
    for (auto const& b : asked.ballots) {
        if (b.has_granted())
            highest = std::max(highest, b.reply.fence);
    }
    if (highest <= asked.command.fence() && asked.command.which() != node_command::kind::raise)
        return;
    highest_ = std::max(highest_, highest);
    manager_.proposals.learn(highest_, events::shown_name(resources_));
}

}  // namespace redlock::locks
