// What is told of an acquisition when it has ended.

#include "core/validity.hpp"
#include "locks/acquisition.hpp"
#include "locks/explain.hpp"
#include "locks/held_lock.hpp"

#include <span>
#include <string_view>

namespace redlock::inline v0::detail {

void acquisition::tell_outcome(error_code ec) const
{
    if (ec)
        attempt_.tell_failure(ec, history_.rounds, shared_from_this());
    else
        attempt_.tell_win(access::stake_of(won_)->lock.shared_from_this(), history_.rounds);
}

attempt_report acquisition::report(error_code ec) const
{
    attempt_report r;
    if (round_)
        r.nodes = round_->report();
    r.outcome = ec;
    r.rounds = history_.rounds;
    r.second_rounds = second_rounds_;
    if (ec == errc::quarantined)
        r.quarantine = core::time_left(state_->quorum.nodes.quarantine_over(), state_->now());
    if (ec == errc::contended)
        r.remaining = remaining();
    r.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(state_->now() - attempt_.called);
    auto const taken = ec == errc::contended ? first_taken() : std::string_view();
    r.message = ec ? explain(state_->settings, state_->quorum.nodes, wanted, options_, r, taken) : "acquired";
    return r;
}

// Of several resources the first that somebody else has, as far as a node has told.
std::string_view acquisition::first_taken() const
{
    if (wants_any())
        return {};
    for (auto const& b : round_ ? std::span<ballot const>(round_->ballots) : std::span<ballot const>()) {
        if (b.answered && !b.reply.taken.empty())
            return name_of(b.command().keys[b.reply.taken.front().index]);
    }
    return {};
}

// For how long others have it, as far as this manager or the nodes have told.
std::chrono::milliseconds acquisition::remaining() const
{
    auto const now = state_->now();
    auto until = clock::time_point::max();
    if (wants_any())
        until = first_held_until();
    else if (auto const held_until = state_->holdings.held_until(resources.names(), mode_on_nodes()))
        return core::time_left(*held_until, now);
    if (round_) {
        core::estimate<clock::time_point> to(round_->ballots.size(), state_->quorum.nodes.quorum(), wants_any());
        look_at(*round_, now, to);
        until = std::min(until, to.free_at());
    }
    return until == clock::time_point::max() ? std::chrono::milliseconds(0) : core::time_left(until, now);
}

}  // namespace redlock::detail
