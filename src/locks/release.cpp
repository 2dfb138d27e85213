#include "locks/call_of_parts.hpp"
#include "locks/check.hpp"
#include "locks/tickets/tickets.hpp"

#include <boost/asio/error.hpp>

#include <utility>

namespace redlock::inline v1::locks {

namespace {

/// One call of `lock::async_release` or `lock_manager::async_release`.
class release_operation final : public runtime::shared_operation<release_operation> {
public:
    release_operation(std::shared_ptr<manager_state> s, detail::completion<void(error_code)> handler)
        : shared_operation(s->strand()), done(std::move(handler)), state_(std::move(s))
    {
    }

    static runtime::task<error_code> run(std::shared_ptr<release_operation> self, std::shared_ptr<held_lock> held,
                                         bool was_held)
    {
        auto& state = *self->state_;
        state.operations.enter(*self);
        if (!was_held)
            held->released_late();
        if (!held->give_back())  // its validity ended before the release began
            co_return errc::not_held;
        if (held->leaves_keys()) {
            held->grant()->withdraw();
            co_return errc::not_held;
        }
        auto const until = held->grant()->stays_until;
        bool const stays = until && *until > state.now();
        if (self->cancelled_ || !was_held || stays) {
            state.cleaner.clean_up(held->grant(), held->longest_ttl());
            if (self->cancelled_)
                co_return asio::error::operation_aborted;
            co_return was_held ? error_code() : make_error_code(errc::not_held);
        }

        auto const release = state.cleaner.make_release(held->grant(), held->longest_ttl());
        self->round_ = release;
        co_await release->gather();
        co_return self->outcome_of(*release);
    }

    /// Releases a lock that another process has acquired.
    static runtime::task<error_code> run(std::shared_ptr<release_operation> self, std::shared_ptr<quorum::grant> taken)
    {
        auto& state = *self->state_;
        state.operations.enter(*self);
        if (!state.shutdown.open())
            co_return asio::error::operation_aborted;
        if (!state.quorum.nodes.met() && !self->cancelled_) {
            self->round_ = quorum::make_round(state.quorum, quorum::to_connect(state.quorum));
            co_await self->round_->gather();
        }

        auto const release = state.cleaner.make_release(std::move(taken), state.settings.max_ttl);
        self->round_ = release;
        if (self->cancelled_)
            release->send();
        else
            co_await release->gather();
        co_return self->outcome_of(*release);
    }

    void complete(error_code ec) { done(ec); }

    void cancel(asio::cancellation_type type) override
    {
        if (!runtime::may_leave_traces(type))
            return;
        cancelled_ = true;
        if (round_)
            round_->end_wait();
    }

    void stop() override {}  // it ends soon by itself

    void abandon() override
    {
        if (round_)
            round_->abandon();
    }

    detail::completion<void(error_code)> done;

private:
    error_code outcome_of(quorum::round const& release) const
    {
        if (cancelled_)
            return asio::error::operation_aborted;
        if (release.votes.verdict() == core::verdict::won)
            return {};
        // Refused: a majority no longer had the key.
        return release.votes.refused() ? errc::not_held : errc::no_quorum;
    }

    std::shared_ptr<manager_state> const state_;
    bool cancelled_ = false;
    std::shared_ptr<quorum::round> round_;
};

}  // namespace

void start_release(std::shared_ptr<handle_state> s, detail::error_handler done)
{
    if (!s || s->lock.state->abandoned())
        return done(make_error_code(errc::not_held));
    auto held = s->lock.shared_from_this();
    bool const was_held = s->held();
    auto const end = s->give_back();
    if (end == handle_state::end::in_parts)
        return call_of_parts::start(s, start_release, std::move(done));
    if (end == handle_state::end::one_of_several) {
        tell_waits_of(s);
        return done(was_held ? error_code() : make_error_code(errc::not_held));
    }
    if (end == handle_state::end::before
        || held->validity.give_up(held_lock::condition::released) == held_lock::condition::released)
        return done(make_error_code(errc::not_held));
    auto const state = held->state;
    auto r = detail::make_recycled<release_operation>(state, std::move(done));
    r->done.on_cancel(r);
    state->operations.run(r, release_operation::run(r, std::move(held), was_held));
}

void start_release_by_ticket(std::shared_ptr<manager_state> s, lock_ticket ticket, detail::error_handler done)
{
    if (s->abandoned())
        return done(asio::error::operation_aborted);
    if (!check(ticket, s->settings).empty())
        return done(make_error_code(errc::invalid_argument));
    if (!lack(ticket, s->quorum.nodes).empty())
        return done(make_error_code(errc::unsupported));
    auto r = detail::make_recycled<release_operation>(s, std::move(done));
    r->done.on_cancel(r);
    s->operations.run(r, release_operation::run(r, grant_of(ticket, *s)));
}

}  // namespace redlock::locks
