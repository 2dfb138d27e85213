#include "locks/held_lock.hpp"

#include "core/renewal.hpp"
#include "core/validity.hpp"
#include "locks/explain.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace redlock::inline v0::detail {

namespace {

// No node's promise makes renewals come more often than the least ttl would.
constexpr std::chrono::milliseconds period_min{20};

}  // namespace

held_lock::held_lock(std::shared_ptr<manager_state> s, lock_origin const& by, resource_set names, round const& won, acquire_options const& options, renew how)
    : holding(by, std::move(names)),
      state(std::move(s)),
      grant_(won.grant()),
      started_(won.started),
      acquired_(by.decided),
      ttl_(options.ttl),
      promised_(won.promised()),
      renew_(options.renew == renewal::automatic ? how : nullptr),
      hold_until_(core::hold_until(won.started, options.max_hold)),
      renew_at_(renew_ ? core::renewal_due(won.started, promised_, state->runtime.random()[0]) : clock::time_point::max()),
      longest_ttl_(ttl_),
      margin_(core::stop_margin(core::time_to_work(promised_, options.max_hold))),
      wanted_(won.wanted()),
      valid_until_(valid_until(won.started, promised_).time_since_epoch().count()),
      alarm_([this] { ring(); })
{
}

bool held_lock::held() const noexcept
{
    return condition_.load(std::memory_order_acquire) == condition::held && !state->abandoned() && state->now() < valid_until();
}

clock::time_point held_lock::valid_until() const noexcept
{
    return clock::time_point(clock::duration(valid_until_.load(std::memory_order_acquire)));
}

clock::time_point held_lock::valid_until(clock::time_point started, std::chrono::milliseconds ttl) const noexcept
{
    return std::min(core::valid_until(started, ttl, state->settings.drift_factor), hold_until_);
}

held_lock::condition held_lock::give_up(condition to) noexcept
{
    auto before = condition_.load(std::memory_order_acquire);
    while (before < to && !condition_.compare_exchange_weak(before, to, std::memory_order_acq_rel)) {
    }
    return before;
}

bool held_lock::renews() const noexcept
{
    return renew_ && !renewing_ && valid_until() < hold_until_ && (state->shutdown.open() || bodies_ != 0);
}

void held_lock::keep()
{
    state->runtime.set(alarm_, renews() ? std::min(lost_at(), renew_at_) : lost_at());
}

void held_lock::ring()
{
    auto const now = state->now();
    if (condition_.load(std::memory_order_acquire) != condition::held)
        return now < valid_until() ? give_away_when_over() : state->holdings.give_away(*this);
    if (now >= lost_at())
        return lose(valid_until() < hold_until_ ? "its validity is about to end" : "max_hold is about to be over");
    if (renews() && now >= renew_at_) {
        renewing_ = true;
        renew_(shared_from_this(), ttl_);
    }
    keep();
}

error_code held_lock::check()
{
    switch (condition_.load(std::memory_order_acquire)) {
    case condition::released:
    case condition::detached:
        return errc::not_held;
    case condition::lost:
        return errc::lost;
    case condition::held:
        break;
    }
    if (state->now() < lost_at())
        return {};
    lose("its validity is about to end");
    return errc::lost;
}

error_code held_lock::conclude(round const& extension)
{
    // A majority that comes when the old validity is over may have been granted to somebody else in between.
    if (auto const ec = check())
        return ec;
    if (extension.votes.verdict() == core::verdict::won) {
        auto const promised = extension.promised();
        auto const until = valid_until(extension.started, promised);
        if (until <= state->now()) {
            trouble_ = "the nodes promise it for too short a time";
            return errc::no_quorum;
        }
        if (until > valid_until())
            set_valid_until(until, extension.started, promised);
        if (extension.command.ttl >= ttl_)
            promised_ = std::clamp(promised, period_min, std::max(ttl_, period_min));
        keep();
        return {};
    }
    if (extension.votes.refused())
        return lose_to_refusal();
    trouble_ = missing_votes(extension.report(), core::majority(extension.ballots.size()));
    return errc::no_quorum;
}

void held_lock::set_valid_until(clock::time_point until, clock::time_point started, std::chrono::milliseconds promised)
{
    valid_until_.store(until.time_since_epoch().count(), std::memory_order_release);
    margin_ = core::stop_margin(std::min(promised, std::chrono::floor<std::chrono::milliseconds>(hold_until_ - started)));
}

error_code held_lock::lose_to_refusal()
{
    lose("a majority of the nodes does not have it any more");
    return errc::lost;
}

void held_lock::renewed(error_code ec)
{
    renewing_ = false;
    bool const ask_again = std::exchange(gone_meanwhile_, false);
    if (condition_.load(std::memory_order_acquire) != condition::held)
        return;
    auto const now = state->now();
    if (ec) {
        bump(state->count[&stats::renewals_failed]);
        state->renewals.failed(renewal_fails_, number, resources, trouble_.empty() ? ec.message() : trouble_);
        renew_at_ = core::renewal_retry(now, promised_);
    } else {
        bump(state->count[&stats::renewals]);
        trouble_.clear();
        state->renewals.succeeded(renewal_fails_);
        renew_at_ = core::renewal_due(now, promised_, state->runtime.random()[0]);
    }
    not_before_ = now + promised_ / 20;
    if (ask_again)
        renew_at_ = std::min(renew_at_, not_before_);
    keep();
}

void held_lock::stay_for(std::chrono::milliseconds d)
{
    // The release may have begun on another thread; it comes after this.
    if (!lost() && state->now() < lost_at())
        grant_->stays_until = core::later(started_, d);
}

void held_lock::lose_in_test()
{
    if (condition_.load(std::memory_order_acquire) == condition::held)
        lose("a test has lost it");
}

void held_lock::lose(std::string_view why)
{
    auto self = shared_from_this();
    try {
        trouble_ = trouble_.empty() ? std::string(why) : fmt::format("{}; {}", why, trouble_);
    } catch (...) {  // out of memory: without a word
    }
    auto const before = give_up(condition::lost);
    if (before == condition::held) {
        state->renewals.ended(renewal_fails_, true);
        auto const now = state->now();
        tell_loss(now);
        free_ = true;
        state->holdings.set_free(*this, now);
        give_back_right();
        others_changed();
        end_waits(errc::lost);
    }
    if (before > condition::lost || !state->shutdown.open())
        give_away_when_over();
    else
        alarm_.clear();
}

// When the manager ends nobody gives back what was lost but the holder, who may still be stopping, or has forgotten the handle. And
// a release that was begun is on its way here, unless it was out of memory.
void held_lock::give_away_when_over()
{
    state->runtime.set(alarm_, valid_until());
}

void held_lock::told_to_stop() noexcept
{
    if (condition_.load(std::memory_order_acquire) == condition::held)
        return end_waits(asio::error::operation_aborted);
    try {
        give_away_when_over();
    } catch (...) {  // out of memory
        state->holdings.give_away(*this);
    }
}

void held_lock::runs_body(stake& by)
{
    ++bodies_;
    by.runs_body();
    if (condition_.load(std::memory_order_acquire) == condition::held && !state->shutdown.open())
        keep();
}

// What comes before the node's answer to the acquisition happened before it, too.
void held_lock::may_be_gone(std::size_t node)
{
    auto const& there = grant_->on(node);
    if (condition_.load(std::memory_order_acquire) != condition::held || !there.answered || there.vote != vote::granted)
        return;
    gone_meanwhile_ = renewing_;
    if (!renews())
        return;
    renew_at_ = std::min(renew_at_, std::max(state->now(), not_before_));
    keep();
}

// Readers of one manager need no locks of their own, as long as what is left is enough for them. But not for ever: each that comes later
// may keep it a little longer, and who waits to have it alone is waiting for the last.
std::shared_ptr<stake> held_lock::join(acquire_options const& options, clock::time_point called)
{
    bool const is_kept_alike = (options.renew == renewal::automatic) == (renew_ != nullptr);
    bool const lasts = lost_at() - state->now() >= options.ttl / 2 && hold_until_ == clock::time_point::max() && options.max_hold.count() == 0;
    bool const comes_later = called > started_;
    bool const has_room = !comes_later || later_joins_ < state->settings.max_handovers;
    bool const may_be_upgraded = held_as() == form::as_acquired && !grant_->is_taken_over();  // who joins it may want that
    if (!may_be_upgraded || upgrading_ || mode() == redlock::mode::exclusive || !has_room || !is_kept_alike || !lasts || !held())
        return {};
    auto more = another();
    later_joins_ += more && comes_later ? 1 : 0;
    return more;
}

bool held_lock::let_go()
{
    if (!is_linked())
        return false;
    auto const self = shared_from_this();
    give_back_right();
    others_changed();
    alarm_.clear();
    state->renewals.ended(renewal_fails_, false);
    if (!std::exchange(free_, true)) {
        auto const now = state->now();
        tell_end(now);
        state->holdings.set_free(*this, now);
        end_waits(asio::error::operation_aborted);
    }
    state->holdings.remove(*this);
    return true;
}

void held_lock::abandon()
{
    give_up(condition::released);
    alarm_.clear();
    while (take_wait()) {
    }
}

std::shared_ptr<held_lock::wait> held_lock::take_wait() noexcept
{
    return waits_.empty() ? nullptr : take(static_cast<wait&>(waits_.front()));
}

std::shared_ptr<held_lock::wait> held_lock::take(wait& w) noexcept
{
    waits_.erase(waits_.iterator_to(w));
    w.waits_by_stake::unlink();
    return std::move(w.kept_);
}

// Each that is told leaves first: who could not be told, out of memory, does not keep the others from it.
void held_lock::end_waits(error_code ec) noexcept
{
    while (auto const w = take_wait())
        w->end(ec);
}

void held_lock::end_waits_of(stake& s) noexcept
{
    while (!s.waits.empty()) {
        auto const w = take(static_cast<wait&>(s.waits.front()));
        w->end(asio::error::operation_aborted);
    }
}

void held_lock::add(std::shared_ptr<wait> w)
{
    if (w->stake_->given_back())
        return w->done(error_code(asio::error::operation_aborted));
    switch (condition_.load(std::memory_order_acquire)) {
    case condition::held:
        if (!state->shutdown.open())
            return w->done(error_code(asio::error::operation_aborted));
        waits_.push_back(*w);
        w->stake_->waits.push_back(*w);
        w->kept_ = std::move(w);
        return;
    case condition::lost:
        return w->done(make_error_code(errc::lost));
    case condition::released:
    case condition::detached:
        return w->done(error_code(asio::error::operation_aborted));
    }
}

void held_lock::wait::cancel(asio::cancellation_type)
{
    if (!done)
        return;
    auto const keep = operation::is_linked() ? stake_->lock.take(*this) : nullptr;
    done(error_code(asio::error::operation_aborted));
}

void held_lock::wait::end(error_code ec) noexcept
{
    try {
        done(ec);
    } catch (...) {  // out of memory
    }
}

}  // namespace redlock::detail
