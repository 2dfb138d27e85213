#include "locks/held_lock.hpp"

#include "core/handovers.hpp"
#include "locks/explain.hpp"
#include "quorum/verdicts.hpp"

#include <boost/asio/error.hpp>
#include <fmt/format.h>

#include <utility>

namespace redlock::inline v1::locks {

held_lock::held_lock(std::shared_ptr<manager_state> s, lock_origin const& by, resource_set names,
                     quorum::round const& won, acquire_options const& options)
    : held_lock_entry(by, std::move(names)),
      state(std::move(s)),
      acquired(by.decided),
      validity(won.started, quorum::promised(won), options.max_hold, state->settings.drift_factor),
      held_as(won.grant()->mode),
      grant_(won.grant()),
      started_(won.started),
      renewal_(state->runtime, options, won.started, quorum::promised(won)),
      longest_ttl_(options.ttl),
      may_be_resumed_(options.may_be_resumed),
      wanted_(quorum::is_wanted(won)),
      alarm_([this] { ring(); })
{
}

bool held_lock::held() const noexcept
{
    return validity.is(condition::held) && !state->abandoned() && state->now() < valid_until();
}

bool held_lock::leaves_keys() const noexcept
{
    return is_detached() || (may_be_resumed_ && (was_lost_ || state->now() >= valid_until()));
}

bool held_lock::renews() const noexcept
{
    return renewal_.is_pending() && !validity.ends_with_max_hold() && (state->shutdown.open() || handles.bodies != 0);
}

void held_lock::set_alarm()
{
    state->runtime.set(alarm_, renews() ? std::min(validity.lost_at(), renewal_.due()) : validity.lost_at());
}

void held_lock::ring()
{
    auto const now = state->now();
    if (!validity.is(condition::held))
        return now < valid_until() ? give_away_when_over() : state->held_locks.give_away(*this);
    if (now >= validity.lost_at())
        return lose_to_time();
    if (renews() && now >= renewal_.due()) {
        renewal_.begin();
        start_renewal(shared_from_this(), renewal_.ttl());
    }
    set_alarm();
}

void held_lock::note_expiry(clock::time_point now)
{
    if (validity.is(condition::held) && now >= validity.lost_at())
        lose_to_time();
}

error_code held_lock::why_not_held() const noexcept
{
    if (validity.is(condition::held))
        return {};
    return validity.is(condition::lost) ? errc::lost : errc::not_held;
}

error_code held_lock::conclude(quorum::round const& extension, clock::time_point now)
{
    // If the old validity is over, the votes do not count: somebody else may have held the lock in between.
    note_expiry(now);
    if (auto const ec = why_not_held())
        return ec;
    if (extension.votes.verdict() == core::verdict::won) {
        auto const promised = quorum::promised(extension);
        auto const until = validity.after(extension.started, promised);
        if (until <= now) {
            trouble_ = "the validity that the nodes promised is over already";
            return errc::no_quorum;
        }
        if (until > valid_until())
            validity.set(extension.started, promised);
        renewal_.extended(promised, extension.command.ttl);
        set_alarm();
        return {};
    }
    if (extension.votes.refused())
        return lose_to_refusal();
    trouble_ = locks::stall_first(*state, extension.started)
               + missing_votes(quorum::report(extension), core::majority(extension.ballots.size()));
    return errc::no_quorum;
}

void held_lock::lose_to_time()
{
    if (validity.ends_with_max_hold())
        lose(loss::max_hold, "max_hold is about to be over");
    else
        lose(loss::expired, "its validity is about to end");
}

error_code held_lock::lose_to_refusal()
{
    lose(loss::refused, "a majority of the nodes no longer has it");
    return errc::lost;
}

void held_lock::renewed(error_code ec, std::chrono::nanoseconds slack, bool is_late)
{
    if (!validity.is(condition::held))
        return;
    events::bump(ec ? state->count[&stats::renewals_failed] : state->count[&stats::renewals]);
    if (ec) {
        state->renewals.failed(renewal_.fails, number, resources, trouble_.empty() ? ec.message() : trouble_);
    } else {
        trouble_.clear();
        count[&lock_stats::renewal_slack].add(slack);
        if (is_late)
            events::bump(state->count[&stats::renewals_late]);
        state->renewals.succeeded(renewal_.fails);
    }
    renewal_.ended(!ec);
    set_alarm();
}

bool held_lock::lasts_for(std::chrono::milliseconds ttl, renewal how) const noexcept
{
    bool const is_renewed = how == renewal::automatic && renewal_.is_automatic() && renewal_.ttl() >= ttl;
    return valid_until() >= validity.after(state->now(), is_renewed ? ttl / 2 : ttl);
}

void held_lock::renew_for(std::chrono::milliseconds ttl)
{
    if (renewal_.is_automatic() && renewal_.ttl() >= ttl)
        return;
    renewal_.renew_for(ttl);
    set_alarm();
}

void held_lock::stay_for(std::chrono::milliseconds d)
{
    // Another thread may have begun the release, which reaches the strand after this.
    if (!validity.is(condition::lost) && state->now() < validity.lost_at())
        grant_->stays_until = core::later(started_, d);
}

void held_lock::lose(loss reason, std::string_view why)
{
    auto self = shared_from_this();
    try {
        auto const late = state->now() - valid_until();
        auto text = reason == loss::expired && late.count() >= 0
                        ? fmt::format("its validity ended {} ago", runtime::shown_time(late))
                        : std::string(why);
        trouble_ = !trouble_.empty()          ? fmt::format("{}; {}", text, trouble_)
                   : reason != loss::max_hold ? stall_first() + text
                                              : text;
    } catch (...) {  // out of memory: no message
    }
    auto const before = validity.give_up(condition::lost);
    if (before == condition::held) {
        was_lost_ = true;
        state->renewals.ended(renewal_.fails, true);
        auto const now = state->now();
        tell_loss(*this, reason, now);
        free_ = true;
        state->held_locks.set_free(*this, now);
        held_as.give_back_right();
        others_changed();
        handles.end_waits(errc::lost);
    }
    if (before > condition::lost || !state->shutdown.open())
        give_away_when_over();
    else
        alarm_.clear();
}

void held_lock::released_late()
try {
    auto const late = state->now() - valid_until();
    if (!was_lost_ && late.count() < 0)
        return;
    if (!was_lost_)
        trouble_ = stall_first()
                   + fmt::format("its validity ended {} before it was released", runtime::shown_time(late));
    was_released_late_ = true;
} catch (...) {  // out of memory: no message
}

// The stalls since the validity began.
std::string held_lock::stall_first() const { return locks::stall_first(*state, valid_until() - validity.promised()); }

// When the manager ends, only the holder gives back a lost lock. It may still be stopping, or it has forgotten the
// handle, so the alarm waits until the validity is over. The alarm also covers a release that failed for lack of
// memory.
void held_lock::give_away_when_over() { state->runtime.set(alarm_, valid_until()); }

void held_lock::stop() noexcept
{
    if (validity.is(condition::held))
        return handles.end_waits(asio::error::operation_aborted);
    try {
        give_away_when_over();
    } catch (...) {  // out of memory
        state->held_locks.give_away(*this);
    }
}

void held_lock::runs_body(handle_state& by)
{
    ++handles.bodies;
    by.runs_body();
    if (validity.is(condition::held) && !state->shutdown.open())
        set_alarm();
}

// A push that arrives before the node's answer to the acquisition is older than the answer.
void held_lock::key_may_be_gone(std::size_t node)
{
    auto const& there = grant_->on(node);
    if (!validity.is(condition::held) || !there.answered || there.vote != vote::granted)
        return;
    renewal_.key_is_gone();
    if (!renews())
        return;
    renewal_.ask_soon();
    set_alarm();
}

std::shared_ptr<handle_state> held_lock::another_handle(std::shared_ptr<scope_share> of_scope)
{
    auto more = detail::make_recycled<handle_state>(shared_from_this(), std::move(of_scope));
    return more->given_back() ? nullptr : more;
}

// Readers of one manager share one lock if enough validity is left for them.
std::shared_ptr<handle_state> held_lock::join(acquire_options const& options, clock::time_point called)
{
    bool const is_kept_alike = (options.renew == renewal::automatic) == renewal_.is_automatic();
    bool const has_time = validity.lost_at() - state->now() >= options.ttl / 2;
    bool const is_limited = validity.is_limited() || options.max_hold.count() != 0;
    bool const comes_later = called > started_;
    bool const has_room = !comes_later || handles.later_joins < core::late_readers_max;
    // A reader that joins may want an upgrade, so an upgrade must still be possible.
    bool const may_be_upgraded = held_as.current() == form::as_acquired && !grant_->is_taken_over();
    bool const is_shared = may_be_upgraded && !held_as.is_changing() && mode() != redlock::mode::exclusive;
    if (!is_shared || !has_room || !is_kept_alike || !has_time || is_limited || !held())
        return {};
    auto more = another_handle();
    handles.later_joins += more && comes_later ? 1 : 0;
    return more;
}

bool held_lock::give_back()
{
    if (!is_linked())
        return false;
    auto const self = shared_from_this();
    held_as.give_back_right();
    others_changed();
    alarm_.clear();
    state->renewals.ended(renewal_.fails, false);
    if (!std::exchange(free_, true)) {
        auto const now = state->now();
        tell_end(*this, now);
        state->held_locks.set_free(*this, now);
        handles.end_waits(asio::error::operation_aborted);
    }
    state->held_locks.remove(*this);
    return true;
}

void held_lock::abandon()
{
    validity.give_up(condition::released);
    alarm_.clear();
    handles.abandon();
}

}  // namespace redlock::locks
