#include "locks/pause.hpp"

#include "core/validity.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace redlock::inline v0::detail {

namespace {

using std::chrono::milliseconds;

class pause final : public shared_operation<pause> {
public:
    pause(std::shared_ptr<manager_state> s, core::pause_range range, std::function<void(milliseconds)> begun, error_handler handler)
        : shared_operation(s->strand()), done(std::move(handler)), state_(std::move(s)), range_(range), begun_(std::move(begun))
    {
    }

    static task<error_code> run(std::shared_ptr<pause> self)
    {
        auto& p = *self;
        auto& state = *p.state_;
        state.operations.enter(p);
        if (p.cancelled_ || !state.shutdown.open())
            co_return asio::error::operation_aborted;
        auto const [least, most] = p.range_;
        auto const length = least + std::chrono::floor<milliseconds>(core::part_of(most - least, state.runtime.random()[0]));
        if (p.begun_)
            p.begun_(length);
        co_await suspend_into(p.sleeper_, [&p, &state, length] { state.runtime.set(p.alarm_, core::later(state.now(), length)); });
        co_return p.cancelled_ ? make_error_code(asio::error::operation_aborted) : error_code();
    }

    void complete(error_code ec) { done(ec); }

    void cancel(asio::cancellation_type) override
    {
        cancelled_ = true;
        wake();
    }

    void abandon() override
    {
        auto const self = shared_from_this();  // the task that is destroyed may be the last to know us
        sleeper_.destroy();
    }

    error_handler done;

private:
    void wake()
    {
        alarm_.clear();
        if (sleeper_)  // posted, because what rings ends with it
            asio::post(state_->strand(), [sleeper = std::move(sleeper_)]() mutable { std::move(sleeper).resume(); });
    }

    std::shared_ptr<manager_state> const state_;
    core::pause_range const range_;
    std::function<void(milliseconds)> const begun_;
    bool cancelled_ = false;
    suspended sleeper_;
    alarm alarm_{[this] { wake(); }};
};

}  // namespace

void start_pause(std::shared_ptr<manager_state> s, core::pause_range range, std::function<void(milliseconds)> begun, error_handler handler)
{
    if (s->abandoned())
        return handler(make_error_code(asio::error::operation_aborted));
    auto p = std::make_shared<pause>(s, range, std::move(begun), std::move(handler));
    p->done.on_cancel(p);
    s->operations.run(p, pause::run(p));
}

}  // namespace redlock::detail
