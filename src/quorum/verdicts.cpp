#include "quorum/verdicts.hpp"

#include "core/quorum.hpp"
#include "core/validity.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <string>
#include <tuple>

namespace redlock::inline v1::quorum {

bool all_granted(ballot_set const& asked) noexcept
{
    return std::ranges::all_of(asked.ballots, [](auto& b) { return b.has_granted(); });
}

bool is_wanted(ballot_set const& asked) noexcept
{
    return std::ranges::any_of(asked.ballots, [](auto& b) { return b.has_granted() && b.reply.wanted; });
}

std::chrono::milliseconds promised(ballot_set const& won)
{
    auto const ttl = won.command.ttl;
    auto const quorum = won.votes.quorum();
    auto const promise_all =
        std::ranges::count_if(won.ballots, [&](auto& b) { return b.has_granted() && b.reply.good_for >= ttl; });
    if (static_cast<std::size_t>(promise_all) >= quorum)  // the usual case
        return ttl;
    boost::container::small_vector<std::chrono::milliseconds, 9> promises;
    for (auto const& b : won.ballots) {
        if (b.has_granted())
            promises.push_back(std::min(b.reply.good_for, ttl));
    }
    if (promises.size() < quorum)  // a node has revoked its grant
        return std::chrono::milliseconds(0);
    return core::of_a_quorum<std::chrono::milliseconds>(promises, quorum);
}

bool came_too_late(ballot_set const& won, clock::time_point decided_at, std::chrono::milliseconds max_hold)
{
    auto const promise = promised(won);
    auto const until = std::min(core::valid_until(won.started, promise, won.quorum.settings.drift_factor),
                                core::hold_until(won.started, max_hold));
    return decided_at >= until - core::stop_margin(core::time_to_work(promise, max_hold));
}

std::size_t quarantined(ballot_set const& asked) noexcept
{
    return static_cast<std::size_t>(std::ranges::count_if(asked.ballots, [](auto& b) { return b.quarantined; }));
}

bool is_revocable(ballot_set const& asked) noexcept
{
    return std::ranges::any_of(asked.ballots, [](auto& b) { return b.revocable; });
}

std::optional<round_command> to_found(ballot_set const& asked)
{
    if (!std::ranges::all_of(asked.ballots, [](auto& b) { return b.skipped || b.has_granted(); }))
        return std::nullopt;
    round_command c(asked.quorum, commands::found{}, key_list(1), std::string(), std::chrono::milliseconds(0));
    c.waits_for_all = true;
    c.ask_only([&](std::size_t i) { return !asked.ballots[i].skipped; }, vote::granted);
    return c;
}

std::vector<node_report> report(ballot_set const& asked)
{
    auto const& known = asked.quorum.nodes;
    std::vector<node_report> nodes;
    nodes.reserve(asked.ballots.size());
    for (auto const& b : asked.ballots) {
        bool const is_value = b.reply.vote != vote::unknown;  // of the key, not words of the server
        bool const is_late = b.out_of_time && is_value;       // so it did not count
        nodes.push_back({known[b.node].name(), is_late ? vote::unknown : b.cast(),
                         is_late ? errc::node_timeout : b.reply.error, is_value ? std::string() : b.reply.text,
                         std::chrono::microseconds(b.round_trip_us)});
        // The round did not wait for this node, but the node is not ready and could not have answered.
        auto& n = nodes.back();
        if (n.vote == vote::unknown && !n.error && !known[b.node].ready())
            std::tie(n.error, n.message) = known.latest_error(b.node);
        if (b.quarantined && n.message.empty() && known.in_quarantine(b.node)) {
            n.message = known.why_in_quarantine(b.node);
            n.reason = known.reason(b.node);
        }
    }
    return nodes;
}

}  // namespace redlock::quorum
