#include "locks/extension.hpp"

#include "locks/check.hpp"

#include <boost/asio/error.hpp>

#include <utility>

namespace redlock::detail {

void start_extend(std::shared_ptr<stake> s, std::chrono::milliseconds ttl, error_handler done)
{
    if (!s || s->given_back() || s->lock.state->abandoned())
        return done(make_error_code(errc::not_held));
    auto const& state = *s->lock.state;
    if (!detail::check_ttl(ttl, state.settings).empty() || !state.quorum.nodes.check_ttl(ttl).empty())
        return done(make_error_code(errc::invalid_argument));
    s->lock.extend_right(ttl);
    extension::start(s->lock.shared_from_this(), ttl, std::move(done));
}

void extension::start(std::shared_ptr<held_lock> held, std::chrono::milliseconds ttl, completion<void(error_code)> done)
{
    auto x = make_recycled<extension>(std::move(held), ttl, std::move(done));
    if (x->done_)
        x->done_.on_cancel(x);
    x->held_->state->operations.run(x, ask_nodes(x));
}

void extension::complete(error_code ec)
{
    if (renewal_)
        held_->renewed(ec);
    else
        done_(ec);
}

extension::extension(std::shared_ptr<held_lock> held, std::chrono::milliseconds ttl, completion<void(error_code)> done)
    : shared_operation(held->state->strand()), held_(std::move(held)), ttl_(ttl), done_(std::move(done)), renewal_(!done_)
{
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
        if (auto const ec = held.check())
            co_return ec;
        form = held.held_as();
        held.may_live_for(self->ttl_);
        auto const extension = make_recycled<round>(state.quorum, node_command::kind::extend, grant, self->ttl_);
        extension->command.heal = self->renewal_ && state.settings.heal;
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
    co_return self->cancelled_ ? make_error_code(asio::error::operation_aborted) : ec;
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

}  // namespace redlock::detail
