#include "manager/held_lock.hpp"

#include "core/renewal.hpp"
#include "core/validity.hpp"
#include "manager/explain.hpp"
#include "manager/extension.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace redlock::detail {

held_lock::held_lock(std::shared_ptr<detail::engine> e, std::string name, round const& won, acquire_options const& options)
    : resource(std::move(name)),
      engine(std::move(e)),
      grant_(won.grant()),
      ttl_(options.ttl),
      renew_(options.renew == renewal::automatic),
      hold_until_(core::hold_until(won.started, options.max_hold)),
      renew_at_(renew_ ? core::renewal_due(won.started, ttl_, engine->random()) : clock::time_point::max()),
      longest_ttl_(ttl_),
      margin_(core::stop_margin(core::time_to_work(ttl_, options.max_hold))),
      valid_until_(valid_until(won.started, ttl_).time_since_epoch().count()),
      alarm_([this] { ring(); })
{
}

bool held_lock::held() const noexcept
{
    return standing_.load(std::memory_order_acquire) == standing::held && !engine->abandoned() && engine->now() < valid_until();
}

clock::time_point held_lock::valid_until() const noexcept
{
    return clock::time_point(clock::duration(valid_until_.load(std::memory_order_acquire)));
}

clock::time_point held_lock::valid_until(clock::time_point started, std::chrono::milliseconds ttl) const noexcept
{
    return std::min(core::valid_until(started, ttl, engine->settings().drift_factor), hold_until_);
}

held_lock::standing held_lock::give_up(standing to) noexcept
{
    auto before = standing_.load(std::memory_order_acquire);
    while (before < to && !standing_.compare_exchange_weak(before, to, std::memory_order_acq_rel)) {
    }
    return before;
}

bool held_lock::renews() const noexcept
{
    return renew_ && !renewing_ && valid_until() < hold_until_ && (engine->open() || has_body_);
}

void held_lock::keep()
{
    engine->set(alarm_, renews() ? std::min(lost_at(), renew_at_) : lost_at());
}

void held_lock::ring()
{
    auto const now = engine->now();
    if (standing_.load(std::memory_order_acquire) != standing::held)
        return now < valid_until() ? give_away_when_over() : engine->give_away(*this);
    if (now >= lost_at())
        return lose(valid_until() < hold_until_ ? "its validity is about to end" : "max_hold is about to be over");
    if (renews() && now >= renew_at_) {
        renewing_ = true;
        extension::start(shared_from_this(), ttl_, {});
    }
    keep();
}

error_code held_lock::check()
{
    switch (standing_.load(std::memory_order_acquire)) {
    case standing::released:
        return errc::not_held;
    case standing::lost:
        return errc::lost;
    case standing::held:
        break;
    }
    if (engine->now() < lost_at())
        return {};
    lose("its validity is about to end");
    return errc::lost;
}

error_code held_lock::judge(round const& extension)
{
    // A majority that comes when the old validity is over may have been granted to somebody else in between.
    if (auto const ec = check())
        return ec;
    if (extension.votes.verdict() == core::verdict::won) {
        auto const until = valid_until(extension.started, extension.command.ttl);
        if (until > valid_until()) {
            valid_until_.store(until.time_since_epoch().count(), std::memory_order_release);
            margin_ = core::stop_margin(
                std::min(extension.command.ttl, std::chrono::floor<std::chrono::milliseconds>(hold_until_ - extension.started)));
        }
        keep();
        return {};
    }
    if (extension.votes.refused()) {
        lose("a majority of the nodes does not have it any more");
        return errc::lost;
    }
    trouble_ = missing_votes(extension.report(), core::majority(extension.ballots.size()));
    return errc::no_quorum;
}

void held_lock::renewed(error_code ec)
{
    renewing_ = false;
    if (standing_.load(std::memory_order_acquire) != standing::held)
        return;
    auto const now = engine->now();
    if (ec) {
        bump(engine->count.renewals_failed);
        engine->renewals().failed(renewal_fails_, resource, trouble_.empty() ? ec.message() : trouble_);
        renew_at_ = core::renewal_retry(now, ttl_);
    } else {
        bump(engine->count.renewals);
        trouble_.clear();
        engine->renewals().succeeded(renewal_fails_);
        renew_at_ = core::renewal_due(now, ttl_, engine->random());
    }
    keep();
}

void held_lock::lose_in_test()
{
    if (standing_.load(std::memory_order_acquire) == standing::held)
        lose("a test has lost it");
}

void held_lock::lose(std::string_view why)
{
    auto self = shared_from_this();
    try {
        trouble_ = trouble_.empty() ? std::string(why) : fmt::format("{}; {}", why, trouble_);
    } catch (...) {  // out of memory: without a word
    }
    auto const before = give_up(standing::lost);
    if (before == standing::held) {
        engine->renewals().ended(renewal_fails_, true);
        bump(engine->count.lost);
        free_ = true;
        engine->set_free(*this);
        end_waits(errc::lost);
        engine->log(log_level::warning, "lost \"{}\": {}", std::string_view(shown_name(resource)), trouble_);
    }
    if (before == standing::released || !engine->open())
        give_away_when_over();
    else
        alarm_.clear();
}

// When the manager ends nobody gives back what was lost but the holder, who may still be stopping, or has forgotten the handle. And
// a release that was begun is on its way here, unless it was out of memory.
void held_lock::give_away_when_over()
{
    engine->set(alarm_, valid_until());
}

void held_lock::told_to_stop() noexcept
{
    if (standing_.load(std::memory_order_acquire) == standing::held)
        return end_waits(asio::error::operation_aborted);
    try {
        give_away_when_over();
    } catch (...) {  // out of memory
        engine->give_away(*this);
    }
}

void held_lock::runs_body()
{
    has_body_ = true;
    if (standing_.load(std::memory_order_acquire) == standing::held && !engine->open())
        keep();
}

bool held_lock::let_go()
{
    if (!is_linked())
        return false;
    auto const self = shared_from_this();
    bump(engine->count.released);
    alarm_.clear();
    engine->renewals().ended(renewal_fails_, false);
    if (!std::exchange(free_, true)) {
        engine->set_free(*this);
        end_waits(asio::error::operation_aborted);
    }
    engine->remove(*this);
    return true;
}

void held_lock::drop()
{
    give_up(standing::released);
    alarm_.clear();
    while (take_wait()) {
    }
}

std::shared_ptr<held_lock::wait> held_lock::take_wait() noexcept
{
    if (waits_.empty())
        return {};
    auto& w = static_cast<wait&>(waits_.front());
    waits_.pop_front();
    return std::move(w.kept_);
}

// Each that is told leaves first: who could not be told, out of memory, does not keep the others from it.
void held_lock::end_waits(error_code ec) noexcept
{
    while (auto const w = take_wait()) {
        try {
            w->done(ec);
        } catch (...) {
        }
    }
}

void held_lock::add(std::shared_ptr<wait> w)
{
    switch (standing_.load(std::memory_order_acquire)) {
    case standing::held:
        if (!engine->open())
            return w->done(error_code(asio::error::operation_aborted));
        waits_.push_back(*w);
        w->kept_ = std::move(w);
        return;
    case standing::lost:
        return w->done(make_error_code(errc::lost));
    case standing::released:
        return w->done(error_code(asio::error::operation_aborted));
    }
}

void held_lock::wait::cancel(asio::cancellation_type)
{
    if (!done)
        return;
    auto const keep = std::move(kept_);
    if (is_linked())
        held_->waits_.erase(held_->waits_.iterator_to(*this));
    done(error_code(asio::error::operation_aborted));
}

void give_back(std::shared_ptr<held_lock> const& held) noexcept
{
    auto& e = *held->engine;
    if (e.abandoned() || held->give_up(held_lock::standing::released) == held_lock::standing::released)
        return;
    try {
        asio::post(e.strand(), [held] { held->engine->give_away(*held); });
    } catch (...) {  // out of memory: the key stays until its ttl is over
    }
}

}  // namespace redlock::detail
