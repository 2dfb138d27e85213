#include "locks/call_of_parts.hpp"
#include "locks/check.hpp"

#include <boost/asio/error.hpp>

#include <utility>

namespace redlock::inline v1::locks {

namespace {

constexpr int late_part = 5;  // a renewal is late if less than 1/5 of the validity is left

/// One call of `lock::async_extend`, or one renewal.
class extension final : public runtime::shared_operation<extension> {
public:
    /// @param by a handle without parts; null for a renewal
    extension(std::shared_ptr<held_lock> held, std::shared_ptr<handle_state> by, std::chrono::milliseconds ttl,
              detail::error_handler handler)
        : shared_operation(held->state->strand()),
          done(std::move(handler)),
          held_(std::move(held)),
          by_(std::move(by)),
          ttl_(ttl)
    {
    }

    static runtime::task<error_code> ask_nodes(std::shared_ptr<extension>);

    void complete(error_code ec)
    {
        tell_extension(*held_, ec, is_renewal(), slack_);
        if (is_renewal())
            held_->renewed(ec, slack_, is_late_);
        else
            done(ec);
    }

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

    detail::error_handler done;

private:
    bool is_renewal() const noexcept { return by_ == nullptr; }

    // A handle that was given back holds nothing, even if other handles still hold the lock.
    error_code outcome(error_code of_the_lock) const noexcept
    {
        return by_ && by_->given_back() ? make_error_code(errc::not_held) : of_the_lock;
    }

    std::shared_ptr<held_lock> const held_;
    std::shared_ptr<handle_state> const by_;
    std::chrono::milliseconds const ttl_;
    bool cancelled_ = false;
    std::chrono::nanoseconds slack_{0};  // validity that was left when the nodes had answered
    bool is_late_ = false;
    std::shared_ptr<quorum::round> round_;
};

// Repeats the downgrade. An upgrade, or a renewal of the upgraded lock, may have reached a node after the first
// downgrade.
void share_again(held_lock& held)
{
    auto const downgrade = quorum::make_round(
        held.state->quorum, quorum::to_holders(commands::downgrade{}, held.grant(), held.longest_ttl()));
    downgrade->send();
}

// Sets the keys of a lock that may be resumed where they are missing. Another process may have released the lock, so
// this comes after a majority has confirmed it. Otherwise the renewal would set all keys again.
void heal_confirmed(held_lock& held, std::chrono::milliseconds ttl, bool is_upgraded)
{
    auto const& grant = *held.grant();
    quorum::round_command healing(commands::extend{.heal = true, .alone = is_upgraded}, held.grant(), ttl);
    healing.ask_only([&](std::size_t i) { return grant.on(i).lacks_keys; });
    if (healing.skipped.size() < grant.nodes())
        quorum::make_round(held.state->quorum, std::move(healing))->send();
}

runtime::task<error_code> extension::ask_nodes(std::shared_ptr<extension> self)
{
    auto& held = *self->held_;
    auto& state = *held.state;
    state.operations.enter(*self);
    if (self->cancelled_ || state.shutdown.closed())
        co_return asio::error::operation_aborted;

    auto const& grant = held.grant();
    // If the form changes during the round, the votes do not count: a vote for a shared lock says nothing about an
    // exclusive one.
    held_lock::form form;
    bool const heals = self->is_renewal() && state.settings.heal;
    do {
        held.note_expiry(state.now());
        if (auto const ec = self->outcome(held.why_not_held()))
            co_return ec;
        form = held.held_as.current();
        held.may_live_for(self->ttl_);
        if (form == held_lock::form::downgraded)
            share_again(held);
        commands::extend const what{.heal = heals && !held.may_be_resumed(),
                                    .alone = form == held_lock::form::upgraded};
        if (heals)
            grant->ask_again();
        auto const extension = quorum::make_round(state.quorum, quorum::to_holders(what, grant, self->ttl_));
        extension->timed = self->is_renewal();
        self->round_ = extension;
        co_await extension->gather();
    } while (form != held.held_as.current() && !self->cancelled_);

    auto const now = state.now();
    self->slack_ = held.validity.left(now);
    self->is_late_ = self->slack_ < held.validity.promised() / late_part;
    auto const ec = held.conclude(*self->round_, now);
    if (!ec && heals && held.may_be_resumed())
        heal_confirmed(held, self->ttl_, form == held_lock::form::upgraded);
    co_return self->cancelled_ ? make_error_code(asio::error::operation_aborted) : self->outcome(ec);
}

}  // namespace

void start_renewal(std::shared_ptr<held_lock> held, std::chrono::milliseconds ttl)
{
    auto const& state = held->state;
    auto x = detail::make_recycled<extension>(std::move(held), nullptr, ttl, detail::error_handler());
    state->operations.run(x, extension::ask_nodes(x));
}

void start_extend(std::shared_ptr<handle_state> s, std::chrono::milliseconds ttl, detail::error_handler done)
{
    if (!s || s->given_back() || s->lock.state->abandoned())
        return done(make_error_code(errc::not_held));
    auto& state = *s->lock.state;
    if (!locks::check_ttl(ttl, state.settings).empty() || !state.quorum.nodes.check_ttl(ttl).empty())
        return done(make_error_code(errc::invalid_argument));
    if (!s->parts().empty()) {
        auto const each = [ttl](std::shared_ptr<handle_state> part, detail::error_handler ended) {
            start_extend(std::move(part), ttl, std::move(ended));
        };
        return call_of_parts::start(std::move(s), each, std::move(done));
    }
    auto x = detail::make_recycled<extension>(s->lock.shared_from_this(), s, ttl, std::move(done));
    x->done.on_cancel(x);
    state.operations.run(x, extension::ask_nodes(x));
}

}  // namespace redlock::locks
