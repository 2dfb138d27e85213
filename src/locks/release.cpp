#include "locks/call_of_parts.hpp"

#include <boost/asio/error.hpp>

#include <utility>

namespace redlock::detail {

namespace {

/// One call of `lock::async_release`.
class release_operation final : public shared_operation<release_operation> {
public:
    release_operation(std::shared_ptr<held_lock> held, bool was_held, completion<void(error_code)> handler)
        : shared_operation(held->state->strand()), done(std::move(handler)), held_(std::move(held)), was_held_(was_held)
    {
    }

    static task<error_code> run(std::shared_ptr<release_operation> self)
    {
        auto& held = *self->held_;
        auto& state = *held.state;
        state.operations.enter(*self);
        if (!held.let_go())  // its validity was over before this could begin
            co_return errc::not_held;
        bool const stays = held.grant()->stays_until > state.now();
        if (self->cancelled_ || !self->was_held_ || stays) {
            state.cleaner.clean_up(held.grant(), held.longest_ttl());
            if (self->cancelled_)
                co_return asio::error::operation_aborted;
            co_return self->was_held_ ? error_code() : make_error_code(errc::not_held);
        }

        auto const release = state.cleaner.make_release(held.grant(), held.longest_ttl());
        self->round_ = release;
        co_await release->gather();

        if (self->cancelled_)
            co_return asio::error::operation_aborted;
        if (release->votes.verdict() == core::verdict::won)
            co_return error_code();
        if (release->votes.refused())  // a majority did not have it any more
            co_return errc::not_held;
        co_return errc::no_quorum;
    }

    void complete(error_code ec) { done(ec); }

    void cancel(asio::cancellation_type type) override
    {
        if (!may_leave_traces(type))
            return;
        cancelled_ = true;
        if (round_)
            round_->end_wait();
    }

    void stop() override {}  // it ends in time, and well

    void abandon() override
    {
        if (round_)
            round_->abandon();
    }

    completion<void(error_code)> done;

private:
    std::shared_ptr<held_lock> const held_;
    bool const was_held_;
    bool cancelled_ = false;
    std::shared_ptr<round> round_;
};

}  // namespace

void start_release(std::shared_ptr<stake> s, error_handler done)
{
    if (!s || s->lock.state->abandoned())
        return done(make_error_code(errc::not_held));
    auto held = s->lock.shared_from_this();
    bool const was_held = s->held();
    auto const end = s->give_back();
    if (end == stake::end::in_parts)
        return call_of_parts::start(s, start_release, std::move(done));
    if (end == stake::end::one_of_several) {
        tell_waits_of(s);
        return done(was_held ? error_code() : make_error_code(errc::not_held));
    }
    if (end == stake::end::before || held->give_up(held_lock::condition::released) == held_lock::condition::released)
        return done(make_error_code(errc::not_held));
    auto const state = held->state;
    auto r = make_recycled<release_operation>(std::move(held), was_held, std::move(done));
    r->done.on_cancel(r);
    state->operations.run(r, release_operation::run(r));
}

}  // namespace redlock::detail
