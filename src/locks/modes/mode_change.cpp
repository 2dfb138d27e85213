// The calls that upgrade and downgrade a shared lock.

#include "core/backoff.hpp"
#include "core/validity.hpp"
#include "locks/check.hpp"
#include "locks/explain.hpp"
#include "locks/held_lock.hpp"
#include "locks/scopes/scope_state.hpp"
#include "locks/token_draw.hpp"
#include "locks/waiting_operation.hpp"
#include "quorum/verdicts.hpp"

#include <redlock/lock_error.hpp>

#include <boost/asio/error.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace redlock::inline v1::locks {

namespace {

constexpr std::chrono::milliseconds look_again_after{2'000};

/// One call of `lock::async_upgrade` or `lock::async_downgrade`.
class mode_change final : public waiting_operation<mode_change>, public waiting_upgrade {
public:
    mode_change(std::shared_ptr<handle_state> by, std::chrono::milliseconds wait, detail::mode_handler handler)
        : waiting_operation(by->lock.state),
          done(std::move(handler)),
          by_(std::move(by)),
          held_(by_->lock.shared_from_this()),
          waits_(wait.count() > 0),
          give_up_at_(core::later(state_->now(), wait)),
          draw_(*state_, held_->resources)
    {
    }

    static runtime::task<error_code> upgrade(std::shared_ptr<mode_change>);
    static runtime::task<error_code> downgrade(std::shared_ptr<mode_change>);

    void complete(error_code);
    void others_changed() override;
    void stop() override;

    detail::mode_handler done;

private:
    static runtime::task<error_code> have_alone(std::shared_ptr<mode_change>);
    static runtime::task<std::uint64_t> draw_token(std::shared_ptr<mode_change>,
                                                   std::shared_ptr<quorum::round> upgrade);

    std::shared_ptr<quorum::round> ask(quorum::round_command);
    quorum::round_command to_holders(commands::variant) const;
    quorum::round_command to_upgrade();
    static bool is_gone(quorum::round const& upgrade);
    error_code outcome_of(quorum::round const& upgrade) const;
    error_code over() const;
    std::string refusal() const;
    bool will_be_notified() const;
    clock::time_point ask_again_at() const;
    error_code gave_up(error_code);
    bool has_asked() const noexcept override { return true; }

    std::shared_ptr<handle_state> const by_;
    std::shared_ptr<held_lock> const held_;
    bool const waits_;
    clock::time_point const give_up_at_;
    std::shared_ptr<quorum::round> round_;
    std::size_t rounds_ = 0;  ///< those after which it pauses, without a notification
    bool changed_ = false;    ///< other holders have changed since the nodes were asked
    std::string why_;         ///< why it was refused
    token_draw draw_;
};

void mode_change::others_changed()
{
    changed_ = true;
    wake();
}

// A round under way ends soon by itself.
void mode_change::stop()
{
    last_round_ = true;
    wake();
}

quorum::round_command mode_change::to_holders(commands::variant what) const
{
    return quorum::to_holders(what, held_->grant(), held_->ttl_of_upgrade());
}

quorum::round_command mode_change::to_upgrade()
{
    std::uint64_t const proposal = state_->settings.fencing ? draw_.propose() : 0;
    auto command = to_holders(commands::upgrade{.watch = waits_, .fence = proposal});
    if (waits_)
        command.name_contender(state_->quorum.contender);
    return command;
}

std::shared_ptr<quorum::round> mode_change::ask(quorum::round_command command)
{
    round_ = quorum::make_round(state_->quorum, std::move(command));
    return round_;
}

runtime::task<error_code> mode_change::upgrade(std::shared_ptr<mode_change> self)
{
    auto& held = *self->held_;
    auto& state = *held.state;
    state.operations.enter(*self);
    if (self->cancelled_ || state.shutdown.closed())
        co_return asio::error::operation_aborted;
    if (auto const ec = held.begin_upgrade(self->waits_ ? self.get() : nullptr))
        co_return ec;
    auto const end = [](held_lock* h) { h->end_upgrade(); };
    std::unique_ptr<held_lock, decltype(end)> const under_way(&held);
    self->last_round_ = self->last_round_ || !state.shutdown.open();
    std::optional<scope_state::observation> observation;
    if (self->waits_ && self->by_->of_scope())
        observation.emplace(*self->by_->of_scope()->scope, held.resources.names().front(),
                            [change = self.get()] { change->others_changed(); });
    for (;;) {
        self->changed_ = false;
        held.note_expiry(state.now());
        if (auto const ec = self->over())
            co_return self->gave_up(ec);
        if (self->why_ = self->refusal(); !self->why_.empty())
            co_return self->gave_up(errc::invalid_argument);
        // The holders of other handles may still read.
        error_code ec = errc::contended;
        if (!held.handles.count.several())
            ec = co_await have_alone(self);
        if (ec != errc::contended || self->cancelled_ || self->last_round_ || state.now() >= self->give_up_at_
            || !held.held_as.may_wait_to_be_alone())
            co_return self->gave_up(ec);
        if (!self->will_be_notified())
            ++self->rounds_;
        co_await self->sleep(std::min(self->ask_again_at(), self->give_up_at_));
        if (self->cancelled_ || self->last_round_)
            co_return self->gave_up(asio::error::operation_aborted);
    }
}

// Returns why the upgrade must end; no error: it goes on.
error_code mode_change::over() const
{
    if (by_->given_back())
        return errc::not_held;
    if (auto const ec = held_->why_not_held())
        return ec;
    return held_->held_as.current() == held_lock::form::as_acquired ? error_code()
                                                                    : make_error_code(asio::error::operation_aborted);
}

// Another reader may wait for a name that comes later, and that the scope holds: a deadlock. The scope may also get
// such a name while the upgrade waits.
std::string mode_change::refusal() const
{
    auto const& in = by_->of_scope();
    if (!waits_ || !in)
        return {};
    auto const& name = held_->resources.names().front();
    auto const held = in->scope->holds_up_to();
    if (held <= name)
        return {};
    return fmt::format("waiting for the other readers while the scope holds \"{}\" would deadlock with a reader that "
                       "waits for that lock: "
                       "upgrade before you acquire locks that come later in the order of names, or do not wait",
                       std::string_view(events::shown_name(std::string_view(held))));
}

detail::reported_error upgrade_refused(resource_set const& resources, std::string_view why)
{
    detail::reported_error outcome(errc::invalid_argument);
    give_report(outcome, [&] {
        return attempt_report{.outcome = errc::invalid_argument,
                              .message = about(resources, "cannot upgrade").append(": ").append(why)};
    });
    return outcome;
}

void mode_change::complete(error_code ec)
{
    if (cancelled_)
        return done(detail::reported_error(asio::error::operation_aborted));
    done(why_.empty() ? detail::reported_error(ec) : upgrade_refused(held_->resources, why_));
}

// The nodes have noted the upgrade's wish and keep readers out, so it is withdrawn.
error_code mode_change::gave_up(error_code ec)
{
    auto& quorum = state_->quorum;
    if (!ec || !waits_ || !round_ || state_->waiters.wanted_alone(held_->resources.names().front()))
        return ec;
    auto const nobody =
        quorum::make_round(quorum, quorum::to_withdraw(quorum, held_->grant()->keys, held_->ttl_of_upgrade()));
    nobody->send();
    return ec;
}

// Whether a quorum of the nodes will notify, and no change came since they were asked.
bool mode_change::will_be_notified() const
{
    auto const notifies = [](quorum::ballot const& b) {
        return b.answered && (b.reply.watched || b.reply.vote == vote::granted);
    };
    return !changed_
           && (!round_
               || static_cast<std::size_t>(std::count_if(round_->ballots.begin(), round_->ballots.end(), notifies))
                      >= state_->quorum.nodes.quorum());
}

// Asks now and then even if a quorum of the nodes will notify. A notice may get lost, and no node notifies of a reader
// whose time is over.
clock::time_point mode_change::ask_again_at() const
{
    auto& state = *held_->state;
    return state.now()
           + (will_be_notified() ? std::min<clock::duration>(held_->ttl_of_upgrade() / 3, look_again_after)
                                 : core::pause_after(rounds_, state.runtime.random()[0]));
}

runtime::task<error_code> mode_change::have_alone(std::shared_ptr<mode_change> self)
{
    auto& held = *self->held_;
    auto& state = *held.state;
    auto const upgrade = self->ask(self->to_upgrade());
    held.may_live_for(upgrade->command.ttl);
    co_await self->gather(*upgrade);
    if (auto const ec = self->outcome_of(*upgrade)) {
        if (ec != errc::lost)
            co_return ec;
        held.note_expiry(state.now());
        auto const why = held.why_not_held();
        co_return why ? why : held.lose_to_refusal();
    }

    std::uint64_t token = 0;
    if (state.settings.fencing) {
        token = co_await draw_token(self, upgrade);
        if (token == 0)
            co_return errc::no_quorum;
    }
    auto ec = self->by_->given_back() ? make_error_code(errc::not_held) : held.conclude_upgrade(*upgrade, token);
    state.watchers.changed(held.resources);
    // The lock was given back or downgraded, but the nodes do not know that.
    if (ec == errc::not_held || ec == asio::error::operation_aborted) {
        held.held_as.change(held_lock::form::as_acquired, held_lock::form::downgraded);
        self->ask(self->to_holders(commands::downgrade{}))->send();
    }
    co_return ec;
}

// Whether so many nodes lack the key that the others are no majority.
bool mode_change::is_gone(quorum::round const& upgrade)
{
    auto const lacks_key = [](quorum::ballot const& b) {
        return b.skipped || (b.answered && b.reply.vote == vote::denied && b.reply.ours == 0);
    };
    auto const gone = std::count_if(upgrade.ballots.begin(), upgrade.ballots.end(), lacks_key);
    return static_cast<std::size_t>(gone) > upgrade.ballots.size() - core::majority(upgrade.ballots.size());
}

error_code mode_change::outcome_of(quorum::round const& upgrade) const
{
    if (cancelled_)
        return asio::error::operation_aborted;
    if (upgrade.votes.verdict() == core::verdict::won)
        return {};
    if (is_gone(upgrade))
        return errc::lost;
    if (upgrade.votes.contended())
        return errc::contended;
    return upgrade.votes.lost_for_want_of(quorum::quarantined(upgrade)) ? errc::quarantined : errc::no_quorum;
}

// Returns 0 if there is no token. Nobody else can win the lock meanwhile, but others that ask for it raise the
// counters.
runtime::task<std::uint64_t> mode_change::draw_token(std::shared_ptr<mode_change> self,
                                                     std::shared_ptr<quorum::round> upgrade)
{
    self->draw_.learn_from(*upgrade);
    auto token = token_draw::number_in(*upgrade);
    for (std::size_t tries = upgrade->ballots.size(); token == 0 && tries > 0; --tries) {
        auto const raise = self->draw_.second_round(*upgrade, mode::exclusive);
        co_await self->gather(*raise);
        if (self->cancelled_ || raise->votes.verdict() != core::verdict::won)
            co_return 0;
        self->draw_.learn_from(*raise);
        token = token_draw::number_after(*raise);
    }
    co_return token;
}

// The lock is shared from the call on; this operation only tells the nodes.
runtime::task<error_code> mode_change::downgrade(std::shared_ptr<mode_change> self)
{
    auto& held = *self->held_;
    auto& state = *held.state;
    state.operations.enter(*self);
    state.held_locks.changed_mode(held);
    held.others_changed();  // an upgrade that waits ends now
    state.waiters.shared_again(held.resources.names().front());
    if (self->cancelled_ || state.shutdown.closed())
        co_return asio::error::operation_aborted;
    held.note_expiry(state.now());
    if (auto const ec = held.why_not_held())
        co_return ec;
    auto const question = self->ask(self->to_holders(commands::downgrade{}));
    co_await self->gather(*question);
    state.watchers.changed(held.resources);
    co_return held.conclude_downgrade(*question);
}

error_code check_mode_change(std::shared_ptr<handle_state> const& s)
{
    if (!s || s->given_back() || s->lock.state->abandoned())
        return errc::not_held;
    if (s->lock.grant()->mode != mode::shared || !s->parts().empty())
        return errc::invalid_argument;
    return s->lock.state->quorum.nodes.lack(s->lock.resources, mode::upgradeable).empty()
               ? error_code()
               : make_error_code(errc::unsupported);
}

}  // namespace

void start_upgrade(std::shared_ptr<handle_state> s, std::chrono::milliseconds wait, detail::mode_handler done)
{
    if (auto const ec = check_mode_change(s))
        return done(ec);
    // The previous holder may have tried an upgrade, and the request that reverts it may arrive late.
    if (s->lock.grant()->is_taken_over())
        return done(errc::invalid_argument);
    if (auto const wrong = check_wait(wait); !wrong.empty())
        return done(upgrade_refused(s->lock.resources, wrong));
    if (wait.count() > 0 && !s->lock.held_as.is_upgradeable())
        return done(upgrade_refused(s->lock.resources,
                                    "two readers that wait for each other would deadlock: acquire the lock with "
                                    "mode::upgradeable, or do not wait"));
    auto const& state = s->lock.state;
    auto change = detail::make_recycled<mode_change>(std::move(s), wait, std::move(done));
    change->done.on_cancel(change);
    state->operations.run(change, mode_change::upgrade(change));
}

void start_downgrade(std::shared_ptr<handle_state> s, detail::mode_handler done)
{
    using form = held_lock::form;
    if (auto const ec = check_mode_change(s))
        return done(ec);
    auto& held = s->lock;
    if (!held.held_as.change(form::as_acquired, form::downgraded))
        held.held_as.change(form::upgraded, form::downgraded);
    auto change = detail::make_recycled<mode_change>(std::move(s), std::chrono::milliseconds(0), std::move(done));
    change->done.on_cancel(change);
    held.state->operations.run(change, mode_change::downgrade(change));
}

}  // namespace redlock::locks
