#include "locks/leftovers.hpp"

#include "quorum/verdicts.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace redlock::inline v1::locks {

void leftovers::grow()
{
    auto& manager = request_.manager;
    if (!growing_)
        growing_ = detail::make_recycled<quorum::grant>(request_.keys(), manager.make_token(request_.options),
                                                        manager.quorum.nodes.size());
}

void leftovers::round_was_lost(quorum::round& lost)
{
    if (growing_ && !quorum::is_revocable(lost))
        keep_what_is_ours(lost);
    else
        clean_up(lost);
}

void leftovers::keep_what_is_ours(quorum::round& lost)
{
    boost::container::small_vector<std::size_t, 9> ours;
    for (auto const& b : lost.ballots)
        ours.push_back(b.reply.ours);
    auto sorted = ours;
    auto const kept = core::of_a_quorum<std::size_t>(sorted, lost.quorum.nodes.quorum());
    if (std::none_of(ours.begin(), ours.end(), [&](auto n) { return n > kept; }))
        return;
    request_.manager.cleaner.trim(growing_, ours, kept, request_.options.ttl);
    for (auto& b : lost.ballots)
        b.reply.ours = std::min(b.reply.ours, static_cast<std::uint32_t>(kept));
}

void leftovers::clean_up(quorum::round const& latest)
{
    unsettled_ = false;
    auto const growing = std::exchange(growing_, nullptr);
    request_.manager.cleaner.clean_up(growing ? growing : latest.grant(), request_.options.ttl);
}

// The nodes may have noted that this manager wants a name exclusively (a wish), and keep readers out. The wish is
// withdrawn for each name for which no exclusive acquisition and no upgrade of this manager waits. Waiting readers
// withdraw nothing: they may join a lock and ask no node.
void leftovers::withdraw_wishes() const
{
    auto& manager = request_.manager;
    quorum::key_list unwanted;
    for (auto const& r : request_.names()) {
        std::span const one(&r, 1);
        bool const is_noted = noted_ || manager.held_locks.held_until(one, mode::exclusive);
        if (is_noted && !manager.waiters.wanted_alone(r) && !manager.held_locks.upgrade_waits(r))
            unwanted.push_back(request_.key_of(r));
    }
    if (unwanted.empty())
        return;
    auto const nobody = quorum::make_round(
        manager.quorum, quorum::to_withdraw(manager.quorum, std::move(unwanted), request_.options.ttl));
    nobody->send();
}

}  // namespace redlock::locks
