// Waits for the loss of a lock.

#include "locks/call_of_parts.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>

#include <utility>

namespace redlock::inline v1::locks {

/// One call of `lock::async_wait_lost`.
class loss_wait final : public runtime::shared_operation<loss_wait>, public waits_by_handle {
public:
    loss_wait(std::shared_ptr<handle_state> s, detail::error_handler handler)
        : shared_operation(s->lock.state->strand()), by(std::move(s)), done(std::move(handler))
    {
    }

    void cancel(asio::cancellation_type) override
    {
        if (!done)
            return;
        auto const keep = runtime::operation::is_linked() ? by->lock.handles.take(*this) : nullptr;
        done(error_code(asio::error::operation_aborted));
    }

    void abandon() override {}

    std::shared_ptr<handle_state> const by;
    detail::error_handler done;
    std::shared_ptr<loss_wait> kept;  ///< this, while it waits
};

void handles::add(std::shared_ptr<loss_wait> w)
{
    waits_.push_back(*w);
    w->by->waits.push_back(*w);
    w->kept = std::move(w);
}

std::shared_ptr<loss_wait> handles::take(loss_wait& w) noexcept
{
    waits_.erase(waits_.iterator_to(w));
    w.waits_by_handle::unlink();
    return std::move(w.kept);
}

// The wait leaves the list first. So if its handler fails, out of memory, the other waits still end.
void handles::end(loss_wait& w, error_code ec) noexcept
try {
    take(w)->done(ec);
} catch (...) {
}

void handles::end_waits(error_code ec) noexcept
{
    while (!waits_.empty())
        end(static_cast<loss_wait&>(waits_.front()), ec);
}

void handles::end_waits_of(handle_state& s) noexcept
{
    while (!s.waits.empty())
        end(static_cast<loss_wait&>(s.waits.front()), asio::error::operation_aborted);
}

void handles::abandon() noexcept
{
    while (!waits_.empty())
        take(static_cast<loss_wait&>(waits_.front()));
}

void start_wait_lost(std::shared_ptr<handle_state> s, detail::error_handler done)
{
    if (!s || s->lock.state->abandoned())
        return done(make_error_code(errc::not_held));
    if (!s->parts().empty())
        return call_of_parts::start(s, start_wait_lost, std::move(done), call_of_parts::ends::with_the_first);
    auto& held = s->lock;
    auto w = std::make_shared<loss_wait>(std::move(s), std::move(done));
    w->done.on_cancel(w);
    asio::dispatch(held.state->strand(), [&held, w = std::move(w)]() mutable {
        if (!w->done)  // cancelled
            return;
        if (!w->by->given_back() && held.validity.is(held_lock::condition::lost))
            return w->done(make_error_code(errc::lost));
        if (w->by->given_back() || !held.validity.is(held_lock::condition::held) || !held.state->shutdown.open())
            return w->done(error_code(asio::error::operation_aborted));
        held.handles.add(std::move(w));
    });
}

}  // namespace redlock::locks
