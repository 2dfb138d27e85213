// The reports and events of an acquisition.

#include "core/validity.hpp"
#include "locks/acquisition.hpp"
#include "locks/explain.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace redlock::inline v1::locks {

namespace {

// Returns the first of several resources that a node reported as taken; empty: none, or only one is enough.
std::string_view first_taken(acquire_request const& request, quorum::round const* asked)
{
    if (!asked || request.wants_any())
        return {};
    auto const b =
        std::ranges::find_if(asked->ballots, [](auto& of) { return of.answered && !of.reply.taken.empty(); });
    return b == asked->ballots.end() ? std::string_view()
                                     : request.name_of(b->command().keys[b->reply.taken.front().index]);
}

// Returns the value of the lock, if a node that denied it has told it. Without a majority, any of them helps people.
std::string_view holder_seen(quorum::round const* asked)
{
    if (!asked)
        return {};
    auto const b = std::ranges::find_if(asked->ballots, [](auto& of) {
        return of.answered && of.reply.vote == vote::denied && !of.reply.text.empty();
    });
    return b == asked->ballots.end() ? std::string_view() : std::string_view(b->reply.text);
}

// Returns how long others keep the lock, as far as this manager or the nodes know; 0: unknown.
std::chrono::milliseconds remaining(acquire_request const& request, local_turn const& turn, quorum::round const* asked)
{
    auto const now = request.manager.now();
    auto until = clock::time_point::max();
    if (request.wants_any())
        until = turn.first_held_until();
    else if (auto const held_until = request.manager.held_locks.held_until(request.names(), request.mode_on_nodes()))
        return core::time_left(*held_until, now);
    if (asked) {
        core::estimate<clock::time_point> to(asked->ballots.size(), asked->quorum.nodes.quorum(), request.wants_any());
        add_votes(*asked, now, to);
        until = std::min(until, to.free_at());
    }
    return until == clock::time_point::max() ? std::chrono::milliseconds(0) : core::time_left(until, now);
}

other_holder holder_of(acquire_request const& request, quorum::round const* asked)
{
    auto const holds = [&](std::span<std::string const> names) {
        return request.manager.held_locks.held_until(names, request.mode_on_nodes()).has_value();
    };
    other_holder by{.resource = first_taken(request, asked), .value = holder_seen(asked)};
    if (request.wants_any()) {
        by.is_here = std::ranges::all_of(request.names(), [&](auto& name) { return holds({&name, 1}); });
    } else {
        auto const held = std::ranges::find_if(request.names(), [&](auto& name) {
            return (by.resource.empty() || by.resource == name) && holds({&name, 1});
        });
        by.is_here = held != request.names().end();
        if (by.is_here && request.wants_several())
            by.resource = *held;
    }
    return by;
}

}  // namespace

void acquisition::tell(quorum::round const& decided, error_code outcome)
{
    if (state_->log.observed())
        attempt_.tell_round(decided, builder_.rounds(), outcome, shared_from_this());
}

attempt_report acquisition::report(error_code ec) const
{
    auto r = attempt_.report(ec, round_.get(), builder_.rounds());
    r.second_rounds = draw_.second_rounds();
    if (ec == errc::contended)
        r.remaining = remaining(request_, turn_, round_.get());
    auto const by = ec == errc::contended ? holder_of(request_, round_.get()) : other_holder();
    r.message = ec ? explain(*state_, request_.wanted, request_.options, r, by) : "acquired";
    return r;
}

void acquisition::complete(error_code ec)
{
    turn_.leave();  // the task has destroyed the place
    try {
        if (leftovers_.unsettled())  // the task failed, out of memory
            leftovers_.clean_up(*round_);
    } catch (...) {  // the keys stay until their ttl is over
    }
    attempt_.ends(ec);
    if (state_->log.observed())
        attempt_.tell_end(ec, won_, builder_.rounds(), shared_from_this());
    detail::reported_error outcome(ec);
    give_report(outcome, won_, request_.options, request_.explains, [&] { return report(ec); });
    watch_.end();
    round_.reset();  // on the strand, because a thread of the user may drop the last reference to this
    done_(std::move(outcome), std::move(won_));
}

}  // namespace redlock::locks
