#include "manager/held_lock.hpp"

#include "core/renewal.hpp"
#include "core/validity.hpp"
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
      renew_until_(options.max_hold.count() > 0 ? core::later(won.started, options.max_hold) : clock::time_point::max()),
      renew_at_(renew_ ? core::renewal_due(won.started, ttl_, engine->random()) : clock::time_point::max()),
      longest_ttl_(ttl_),
      margin_(core::stop_margin(ttl_)),
      valid_until_(core::valid_until(won.started, ttl_, engine->settings().drift_factor).time_since_epoch().count()),
      alarm_([this] { ring(); })
{
}

bool held_lock::held() const noexcept
{
    return standing_.load(std::memory_order_acquire) == standing::held && engine->now() < valid_until();
}

clock::time_point held_lock::valid_until() const noexcept
{
    return clock::time_point(clock::duration(valid_until_.load(std::memory_order_acquire)));
}

held_lock::standing held_lock::give_up(standing to) noexcept
{
    auto before = standing_.load(std::memory_order_acquire);
    while (before < to && !standing_.compare_exchange_weak(before, to, std::memory_order_acq_rel)) {
    }
    return before;
}

void held_lock::keep()
{
    auto at = lost_at();
    if (!renewing_ && renew_at_ < renew_until_)
        at = std::min(at, renew_at_);
    engine->set(alarm_, at);
}

void held_lock::ring()
{
    auto const now = engine->now();
    if (now >= lost_at())
        return lose("its validity is about to end");
    if (now >= renew_until_)
        renew_at_ = clock::time_point::max();
    if (!renewing_ && now >= renew_at_) {
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
        auto const until = core::valid_until(extension.started, extension.ttl, engine->settings().drift_factor);
        if (until > valid_until()) {
            valid_until_.store(until.time_since_epoch().count(), std::memory_order_release);
            margin_ = core::stop_margin(extension.ttl);
        }
        keep();
        return {};
    }
    if (extension.votes.refused()) {
        lose("a majority of the nodes does not have it any more");
        return errc::lost;
    }
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
        engine->log(log_level::warning, "renewal of \"{}\" failed, trying again: {}", resource, ec.message());
        renew_at_ = core::renewal_retry(now, ttl_);
    } else {
        bump(engine->count.renewals);
        renew_at_ = core::renewal_due(now, ttl_, engine->random());
    }
    keep();
}

void held_lock::lose(std::string_view why)
{
    auto self = shared_from_this();
    if (give_up(standing::lost) != standing::held)
        return;
    bump(engine->count.lost);
    engine->log(log_level::warning, "lost \"{}\": {}", resource, why);
    free_ = true;
    alarm_.clear();
    engine->set_free(*this);
    end_waits(errc::lost);
}

bool held_lock::let_go()
{
    if (!is_linked())
        return false;
    auto const self = shared_from_this();
    bump(engine->count.released);
    if (!std::exchange(free_, true)) {
        alarm_.clear();
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
    waits_.clear();
}

void held_lock::end_waits(error_code ec)
{
    for (auto& w : std::exchange(waits_, {}))
        w->done(ec);
}

void held_lock::add(std::shared_ptr<wait> w)
{
    switch (standing_.load(std::memory_order_acquire)) {
    case standing::held:
        return waits_.push_back(std::move(w));
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
    std::erase_if(held_->waits_, [this](auto& w) { return w.get() == this; });
    done(error_code(asio::error::operation_aborted));
}

void give_back(std::shared_ptr<held_lock> const& held) noexcept
{
    auto& e = *held->engine;
    if (e.abandoned() || held->give_up(held_lock::standing::released) == held_lock::standing::released)
        return;
    try {
        asio::post(e.strand(), [held] {
            if (held->let_go())
                held->engine->janitor().clean_up(held->grant(), held->longest_ttl());
        });
    } catch (...) {  // out of memory: the key stays until its ttl is over
    }
}

}  // namespace redlock::detail
