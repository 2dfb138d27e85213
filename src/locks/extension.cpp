#include "locks/extension.hpp"

#include "core/renewal.hpp"
#include "locks/call_of_parts.hpp"
#include "locks/check.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace redlock::inline v0::detail {

void start_extend(std::shared_ptr<stake> s, std::chrono::milliseconds ttl, error_handler done)
{
    if (!s || s->given_back() || s->lock.state->abandoned())
        return done(make_error_code(errc::not_held));
    auto const& state = *s->lock.state;
    if (!detail::check_ttl(ttl, state.settings).empty() || !state.quorum.nodes.check_ttl(ttl).empty())
        return done(make_error_code(errc::invalid_argument));
    if (s->parts().empty())
        return extension::start(std::move(s), ttl, std::move(done));
    auto const each = [ttl](std::shared_ptr<stake> part, error_handler ended) { start_extend(std::move(part), ttl, std::move(ended)); };
    call_of_parts::start(std::move(s), each, std::move(done));
}

void extension::start(std::shared_ptr<stake> by, std::chrono::milliseconds ttl, error_handler done)
{
    auto held = by->lock.shared_from_this();
    auto x = make_recycled<extension>(std::move(held), std::move(by), ttl, std::move(done));
    x->done_.on_cancel(x);
    x->held_->state->operations.run(x, ask_nodes(x));
}

void extension::renew(std::shared_ptr<held_lock> held, std::chrono::milliseconds ttl)
{
    auto x = make_recycled<extension>(std::move(held), nullptr, ttl, error_handler());
    x->held_->state->operations.run(x, ask_nodes(x));
}

void extension::complete(error_code ec)
{
    held_->tell_extension(ec, is_renewal());
    if (is_renewal())
        held_->renewed(ec);
    else
        done_(ec);
}

extension::extension(std::shared_ptr<held_lock> held, std::shared_ptr<stake> by, std::chrono::milliseconds ttl, error_handler done)
    : shared_operation(held->state->strand()), held_(std::move(held)), by_(std::move(by)), ttl_(ttl), done_(std::move(done))
{
}

// What asked for an upgrade, or was renewed as if it had been granted, may have come to a node after it was taken back.
void extension::share_again(held_lock& held)
{
    auto const downgrade = make_recycled<round>(held.state->quorum, node_command::kind::downgrade, held.grant(), held.longest_ttl());
    for (std::size_t i = 0; i < held.grant()->nodes(); ++i) {
        if (!held.grant()->may_hold(i))
            downgrade->skip(i, vote::denied);
    }
    downgrade->send();
}

task<error_code> extension::ask_nodes(std::shared_ptr<extension> self)
{
    auto& held = *self->held_;
    auto& state = *held.state;
    state.operations.enter(*self);
    if (self->cancelled_ || state.shutdown.closed())
        co_return asio::error::operation_aborted;

    auto const& grant = held.grant();
    // What was granted to one who shares it says nothing of one who has it alone meanwhile.
    held_lock::form form;
    do {
        if (auto const ec = self->outcome(held.check()))
            co_return ec;
        form = held.held_as();
        held.may_live_for(self->ttl_);
        if (form == held_lock::form::downgraded)
            share_again(held);
        auto const extension = make_recycled<round>(state.quorum, node_command::kind::extend, grant, self->ttl_);
        extension->command.heal = self->is_renewal() && state.settings.heal;
        extension->timed = self->is_renewal();
        extension->command.alone = form == held_lock::form::upgraded;
        for (std::size_t i = 0; i < grant->nodes(); ++i) {
            if (extension->command.heal)
                grant->ask_again(i);
            if (!grant->may_hold(i))
                extension->skip(i, vote::denied);
        }
        self->round_ = extension;
        co_await extension->gather();
    } while (form != held.held_as() && !self->cancelled_);

    auto const ec = held.conclude(*self->round_);
    co_return self->cancelled_ ? make_error_code(asio::error::operation_aborted) : self->outcome(ec);
}

// Whatever has become of the lock, which other handles may have still: who has given back its own holds nothing.
error_code extension::outcome(error_code of_the_lock) const noexcept
{
    return by_ && by_->given_back() ? make_error_code(errc::not_held) : of_the_lock;
}

void extension::cancel(asio::cancellation_type type)
{
    if (!may_leave_traces(type))
        return;
    cancelled_ = true;
    if (round_)
        round_->end_wait();
}

void extension::abandon()
{
    if (round_)
        round_->abandon();
}

bool held_lock::lasts_for(std::chrono::milliseconds ttl, renewal how) const noexcept
{
    bool const is_renewed = how == renewal::automatic && renew_ && ttl_ >= ttl;
    return valid_until() >= valid_until(state->now(), is_renewed ? ttl / 2 : ttl);
}

void held_lock::renew_for(std::chrono::milliseconds ttl, renew how)
{
    if (renew_ && ttl_ >= ttl)
        return;
    renew_ = how;
    ttl_ = std::max(ttl_, ttl);
    renew_at_ = core::renewal_due(state->now(), promised_, state->runtime.random()[0]);
    keep();
}

}  // namespace redlock::detail
