#include "core/fencing.hpp"
#include "quorum/round.hpp"

#include <algorithm>
#include <utility>

namespace redlock::inline v1::quorum {

node_command const& ballot::command() const noexcept { return round->command; }

// When a lock is being released, its unsent requests are withdrawn, also those that a node refused and would send
// again. A trim is never sent twice: if it arrived after a later round, it would delete keys that the later round has
// counted.
bool ballot::withdrawn() const noexcept
{
    if (round->trims_)
        return sent_on_ != 0;
    return withdrawn_ || (command().which() != node_command::kind::release && round->grant()->on(node).withdrawn);
}

void ballot::mark_sent(std::uint32_t connection) noexcept
{
    if (command().may_set_again() && sent_on_ == 0)
        ++round->grant()->on(node).repeats;
    if (command().prolongs() && sent_on_ == 0)
        ++round->grant()->on(node).extensions;
    if (command().grows())
        round->grant()->sent_again(node);
    if (round->trims_)
        round->grant()->trim_sent(node, connection);
    sent_on_ = connection;
    if (trace_) {
        trace_->sent_on = connection;
        trace_->answered = false;
    }
}

void ballot::complete(node_reply r)
{
    using kind = node_command::kind;
    auto const what = command().which();
    auto& q = round->quorum;
    reply = std::move(r);
    answered = true;
    if (round->timed)
        took(q.runtime.now() - asked);
    if (what == kind::raise && reply.vote == vote::granted && (reply.fence == 0 || reply.fence >= core::fence_end))
        reply = {.error = errc::unexpected_reply};
    if ((what == kind::acquire || what == kind::upgrade)
        && (reply.fence < command().fence() || reply.fence >= core::fence_end))
        reply.fence = 0;  // not a token, so the node did not raise the counter for this round
    // A reply may name only keys of the command.
    std::erase_if(reply.taken, [this](auto& k) { return k.index >= command().keys.size(); });
    reply.ours = std::min<std::uint32_t>(reply.ours, static_cast<std::uint32_t>(command().keys.size()));
    if (command().wants_any() && reply.chosen >= command().keys.size())
        reply = {.error = errc::unexpected_reply};
    if (trace_) {
        trace_->answered = true;
        trace_->untouched = reply.untouched;
        trace_->vote = reply.vote;
    }
    if (round->surplus_)
        settle();
    // The vote for an extension is checked, too: a restarted node may have forgotten that another client holds the
    // lock.
    bool const votes = what == kind::acquire || what == kind::raise || command().prolongs();
    bool const has_key = votes && reply.vote == vote::granted;
    bool const part_is_quarantined = votes && reply.vote == vote::unknown
                                     && reply.error == errc::quarantined;  // the node checked it itself
    quarantined = part_is_quarantined || (has_key && q.nodes.in_quarantine(node));
    revocable = has_key && may_be_taken_away();
    q.nodes.heard(node, what, reply, cast());
    if (quarantined || revocable)
        reply.error = quarantined ? errc::quarantined : errc::connection_lost;
    if ((what == kind::extend || what == kind::replace) && sent_on_ != 0 && reply.vote != vote::unknown)
        round->grant()->on(node).lacks_keys = reply.vote == vote::denied;
    if (round->trims_ && sent_on_ != 0 && (reply.vote != vote::unknown || reply.untouched))
        round->grant()->trim_answered(node);
    if (round->listener)
        round->listener->answered(*this);
    if (command().may_set_again() && sent_on_ != 0) {
        --round->grant()->on(node).repeats;
        if (reply.vote == vote::unknown && !reply.untouched)
            round->grant()->repeat_unanswered(node, sent_on_);
    }
    if (command().prolongs() && sent_on_ != 0 && (reply.vote != vote::unknown || reply.untouched))
        --round->grant()->on(node).extensions;
    finish(cast());
    if (!out_of_time)
        round->completed_one();
}

void ballot::took(clock::duration d)
{
    round_trip_us = static_cast<std::uint32_t>(d / std::chrono::microseconds(1));
    if (reply.vote != vote::unknown)
        round->quorum.nodes.took(node, d);
}

// A trim that was sent on an earlier connection may still arrive, and delete the key.
bool ballot::may_be_taken_away() const
{
    auto const trimmed_on = round->grant()->trimmed_on(node);
    return trimmed_on != 0 && trimmed_on != sent_on_ && round->quorum.nodes[node].may_still_execute(trimmed_on);
}

// For an acquisition of any one of several keys: releases a key that is not the one that was won. If it is unknown
// which key the node has chosen, a lost round's release names all keys, so nothing is reported here.
void ballot::settle()
{
    bool const won = round->asked_for_ != nullptr;
    bool const in_vain = reply.vote == vote::granted
                         && !(won && command().keys[reply.chosen] == round->grant()->keys.front());
    if (in_vain || (won && trace_->is_unknown()))
        round->surplus_->chose_in_vain(*this);
    if (in_vain)
        trace_->vote = vote::denied;
    if (in_vain && won)
        reply.vote = vote::denied;
}

std::uint32_t ballot::unanswered_on() const noexcept
{
    return command().which() == node_command::kind::release && !round->trims_ ? round->grant()->unanswered_on(node) : 0;
}

void ballot::stop_waiting()
{
    // If the acquisition is won, it still goes to late nodes, such as one that is connecting. Each further key lets the
    // lock survive one more node failure. The release withdraws these requests. If the acquisition wanted any one of
    // several keys, a late node might choose another key, so its request is withdrawn now.
    if (command().which() != node_command::kind::acquire || round->votes.verdict() != core::verdict::won
        || command().wants_any())
        withdraw();
    finish(vote::unknown);
}

void ballot::finish(vote v)
{
    if (waiter_)
        std::move(waiter_)(v);
}

}  // namespace redlock::quorum
