#include "core/reply_check.hpp"
#include "quorum/round.hpp"

#include <utility>

namespace redlock::inline v1::quorum {

namespace {

// A server may answer anything. A reply out of bounds is no vote; a token or a key out of bounds does not count.
void keep_in_bounds(node_reply& r, node_command const& asked)
{
    using kind = node_command::kind;
    auto const what = asked.which();
    core::key_bounds const keys(asked.keys.size());
    bool const is_no_token = what == kind::raise && r.vote == vote::granted && !core::is_fencing_token(r.fence);
    if (is_no_token || (asked.wants_any() && !keys.has(r.chosen)))
        r = {.error = errc::unexpected_reply};
    if (what == kind::acquire || what == kind::upgrade)
        r.fence = core::token_raised_by(asked.fence(), r.fence);
    std::erase_if(r.taken, [&](auto& k) { return !keys.has(k.index); });
    r.ours = keys.first(r.ours);
}

}  // namespace

node_command const& ballot::command() const noexcept { return round->command; }

// When a lock is being released, its unsent requests are withdrawn, also those that a node refused and would send
// again. A trim is never sent twice: if it arrived after a later round, it would delete keys that the later round has
// counted.
bool ballot::withdrawn() const noexcept
{
    if (round->trims)
        return sent_on_ != 0;
    return withdrawn_ || (command().which() != node_command::kind::release && round->grant()->on(node).withdrawn);
}

grant::request ballot::request() const noexcept
{
    return {.command = command(), .node = node, .sent_on = sent_on_, .trims = round->trims};
}

void ballot::ask()
{
    round->quorum.nodes[node].submit(std::shared_ptr<node_operation>(round->shared_from_this(), this));
}

void ballot::ask_again()
{
    answered = false;
    reply = {};
    sent_on_ = 0;
    asked = round->quorum.runtime.now();
    ask();
}

void ballot::mark_sent(std::uint32_t connection) noexcept
{
    round->grant()->sent(request(), connection);
    sent_on_ = connection;
}

void ballot::complete(node_reply r)
{
    reply = std::move(r);
    answered = true;
    if (round->timed)
        took(round->quorum.runtime.now() - asked);
    keep_in_bounds(reply, command());
    round->grant()->answered(request(), reply);
    round->choice.answered(*round, *this);
    check_grant();
    if (round->listener)
        round->listener->answered(*this);
    finish(cast());
    if (!out_of_time)
        round->completed_one();
}

// Decides whether a grant counts. The vote for an extension is checked, too: a restarted node may have forgotten that
// another client holds the lock.
void ballot::check_grant()
{
    using kind = node_command::kind;
    auto& nodes = round->quorum.nodes;
    auto const what = command().which();
    bool const votes = what == kind::acquire || what == kind::raise || command().prolongs();
    bool const has_key = votes && reply.vote == vote::granted;
    bool const part_is_quarantined = votes && reply.vote == vote::unknown
                                     && reply.error == errc::quarantined;  // the node checked it itself
    quarantined = part_is_quarantined || (has_key && nodes.in_quarantine(node));
    revocable = has_key && may_be_taken_away();
    nodes.heard(node, what, reply, cast());
    if (quarantined || revocable)
        reply.error = quarantined ? errc::quarantined : errc::connection_lost;
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

std::uint32_t ballot::unanswered_on() const noexcept
{
    return command().which() == node_command::kind::release && !round->trims ? round->grant()->unanswered_on(node) : 0;
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

void ballot::set_error_of_silence()
{
    if (!answered && !reply.error)
        reply.error = sent_on_ != 0 ? errc::node_timeout : errc::node_unreachable;
}

void ballot::finish(vote v)
{
    if (waiter_)
        std::move(waiter_)(v);
}

}  // namespace redlock::quorum
