#include "tools/redlock/run/supervisor.hpp"

#include "tools/redlock/args/output.hpp"
#include "runtime/as_result.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace redlock::cli {

namespace {

using namespace std::chrono_literals;

// How often to look for the end of other processes of the command's group. They send SIGCHLD to this process only if
// their parent has ended.
constexpr auto look_every = 500ms, look_often = 20ms;

}  // namespace

std::chrono::milliseconds default_grace(std::chrono::milliseconds ttl)
{
    return std::min<std::chrono::milliseconds>(5s, ttl / 5);
}

supervisor::supervisor(asio::signal_set& signals, std::shared_ptr<held_locks> l, supervised& c, options o)
    : held_(std::move(l)),
      child_(c),
      options_(std::move(o)),
      time_to_work_(options_.max_hold > 0ms ? std::min(options_.ttl, options_.max_hold) : options_.ttl),
      margin_(margin_of(time_to_work_)),
      grace_(std::min(options_.grace, (time_to_work_ - margin_) / 2)),
      renewal_timeout_(std::min(options_.renewal_timeout, margin_)),
      tell_every_(std::min<std::chrono::milliseconds>(time_to_work_ / 20, 1s)),
      signals_(signals),
      wake_(signals.get_executor())
{
}

asio::awaitable<bool> supervisor::run()
{
    listen();
    watch();
    child_.check_children();  // the command may have ended before listen()
    while (!child_.is_gone()) {
        act();
        if (child_.is_gone())
            break;
        tell_end();
        if (arrived_.empty())
            co_await sleep(std::clamp<clock::duration>(next_step() - now(), 1ms, tell_every_));
        forward_signals();
        child_.check_children();
    }
    if (!is_told_ && child_.was_killed() && now() >= told_end_) {
        tell_loss();
        options_.say(fmt::format("{} could not be renewed while redlock was stopped; the command was killed",
                                 fmt::join(held_->resources(), ", ")));
    }
    is_over_ = true;
    signals_.cancel();
    co_return !is_told_ || options_.then == on_lost::warn;
}

// Renewals move the end, and do not wake the supervisor.
void supervisor::tell_end()
{
    told_end_ = options_.then == on_lost::warn ? clock::time_point::max() : hard_end() + margin_ / 2;
    child_.must_end_by(told_end_);
}

asio::awaitable<void> supervisor::sleep(clock::duration d)
{
    testing::manual_clock::event due;
    if (options_.test_clock) {
        wake_.expires_at(asio::steady_timer::time_point::max());
        due = options_.test_clock->at(now() + d, [weak = weak_from_this()] {
            if (auto const self = weak.lock())
                self->wake_.cancel();
        });
    } else {
        wake_.expires_after(d);
    }
    co_await wake_.async_wait(runtime::as_result);
    if (options_.test_clock)
        options_.test_clock->forget(due);
}

void supervisor::listen()
{
    signals_.async_wait([self = shared_from_this()](error_code ec, int number) {
        if (ec || self->is_over_)
            return;
        self->arrived_.push_back(number);
        self->wake_.cancel();
        self->listen();
    });
}

void supervisor::watch() { asio::co_spawn(wake_.get_executor(), note_loss(shared_from_this()), asio::detached); }

asio::awaitable<void> supervisor::note_loss(std::shared_ptr<supervisor> self)
{
    bool const lost = co_await self->held_->wait_lost();
    if (!lost || self->is_over_)
        co_return;
    self->lost_ = true;
    self->wake_.cancel();
}

void supervisor::forward_signals()
{
    for (int const s : std::exchange(arrived_, {})) {
        if (s != SIGCHLD && s != SIGCONT)
            child_.forward(s);
        else if (s == SIGCONT && !is_killed_)
            child_.resume();
    }
}

void supervisor::act()
{
    if (child_.was_stopped()) {
        tell_end();
        child_.suspend_with_command();
        // The lock was not renewed while this process was stopped. If the lock is lost, the command must not continue.
        if (held_->held() || options_.then == on_lost::warn)
            child_.resume();
        else
            kill("was lost while the command was stopped");
    }
    auto const at = now();
    auto const end = std::min(hard_end(), kill_at_);
    if (lost_ && at < end && options_.then != on_lost::kill)
        stop_softly("is lost");
    else if (lost_ || at >= end)
        kill(lost_ && !is_told_ ? "is lost" : "cannot be kept");
    else if (at < last_renewal())
        has_begun_last_renewal_ = false;
    else if (renews() && !std::exchange(has_begun_last_renewal_, true))
        renew(at);
    else if (at >= std::max(soft_end(), wait_until_) && options_.then == on_lost::term)
        stop_softly(fmt::format("cannot be kept, and will be lost in {}",
                                in_words(std::chrono::duration_cast<std::chrono::milliseconds>(hard_end() - at))));
}

// After a pause of this process there is less time before the soft end, or none. Then the renewal uses some of the
// grace.
void supervisor::renew(clock::time_point at)
{
    wait_until_ = std::min(std::max(soft_end(), at + renewal_timeout_), hard_end());
    asio::co_spawn(wake_.get_executor(), extend(shared_from_this()), asio::detached);
}

asio::awaitable<void> supervisor::extend(std::shared_ptr<supervisor> self)
{
    co_await self->held_->extend(self->options_.ttl);
    self->wait_until_ = {};
    self->wake_.cancel();
}

void supervisor::tell_loss()
{
    if (!std::exchange(is_told_, true) && options_.lost)
        options_.lost();
}

void supervisor::stop_softly(std::string const& why)
{
    if (is_told_)
        return;
    bool const stops = options_.then == on_lost::term;
    kill_at_ = now() + (stops ? grace_ : clock::duration());
    if (stops) {
        child_.signal(SIGTERM);
        child_.signal(SIGCONT);  // a stopped process handles SIGTERM only after it is continued
    }
    tell_loss();
    options_.say(fmt::format("{} {}; {}", fmt::join(held_->resources(), ", "), why,
                             stops ? "the command is asked to stop" : "the command goes on"));
}

void supervisor::kill(std::string const& why)
{
    if (options_.then == on_lost::warn)
        return stop_softly(why);
    child_.signal(SIGKILL);
    if (std::exchange(is_killed_, true))
        return;  // SIGKILL was sent again, because a process may have forked a child since the last time
    tell_loss();
    options_.say(fmt::format("{} {}; the command is killed", fmt::join(held_->resources(), ", "), why));
}

clock::time_point supervisor::now() const { return options_.test_clock ? options_.test_clock->now() : clock::now(); }

clock::time_point supervisor::hard_end() const { return held_->valid_until() - margin_; }

bool supervisor::renews() const { return renewal_timeout_ > 0ms && !is_told_; }

clock::time_point supervisor::last_renewal() const
{
    return (options_.then == on_lost::term ? soft_end() : hard_end()) - (renews() ? renewal_timeout_ : 0ms);
}

clock::time_point supervisor::next_step() const
{
    if (is_killed_)
        return now() + look_often;
    auto step = std::min(hard_end(), kill_at_);
    if (options_.then == on_lost::warn && is_told_)
        step = clock::time_point::max();
    else if (renews() && !has_begun_last_renewal_)
        step = last_renewal();
    else if (options_.then == on_lost::term && !is_told_)
        step = std::max(soft_end(), wait_until_);
    return child_.has_ended() ? std::min(step, now() + look_every) : step;
}

}  // namespace redlock::cli
