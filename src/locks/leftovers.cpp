// What an acquisition may have left on the nodes: it keeps some of it, or gives it back.

#include "locks/acquisition.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace redlock::inline v0::detail {

void acquisition::round_was_in_vain(error_code ec)
{
    tell_those_behind(ec, round_);
    if (round_->command.any && round_->votes.verdict() == core::verdict::lost)
        prefer_others();
    if (growing_ && !round_->revocable())
        keep_what_is_ours();
    else
        clean_up();
}

// After a lost round of one that grows: what a quorum of the nodes has kept for us stays ours, the rest goes back. And again when those
// that were late may have answered.
void acquisition::keep_what_is_ours()
{
    boost::container::small_vector<std::size_t, 9> ours;
    for (auto const& b : round_->ballots)
        ours.push_back(b.reply.ours);
    auto sorted = ours;
    auto const kept = core::of_a_quorum<std::size_t>(sorted, state_->quorum.nodes.quorum());
    if (std::none_of(ours.begin(), ours.end(), [&](auto n) { return n > kept; }))
        return;
    state_->cleaner.trim(growing_, ours, kept, options_.ttl);
    for (auto& b : round_->ballots)
        b.reply.ours = std::min(b.reply.ours, static_cast<std::uint32_t>(kept));
}

// The nodes may have noted that this manager wants it alone, and keep readers from it. It does not want what none of
// its acquisitions waits to have alone any more, and no upgrade. Those that wait to read withdraw nothing: they may join
// others, and ask no node.
void acquisition::withdraw()
{
    key_list unwanted;
    for (auto const& r : resources) {
        std::span const one(&r, 1);
        bool const is_noted = noted_ || state_->holdings.held_until(one, mode::exclusive);
        if (is_noted && !state_->waiters.wanted_alone(r) && !state_->holdings.upgrade_waits(r))
            unwanted.push_back(state_->settings.prefix + r);
    }
    if (unwanted.empty())
        return;
    auto const nobody = make_recycled<round>(state_->quorum, node_command::kind::withdraw, std::move(unwanted), std::string(), options_.ttl);
    nobody->name_contender();
    nobody->send();
}

void acquisition::clean_up()
{
    leaves_traces_ = false;
    auto const growing = std::exchange(growing_, nullptr);
    state_->cleaner.clean_up(growing ? growing : round_->grant(), options_.ttl);
}

}  // namespace redlock::detail
