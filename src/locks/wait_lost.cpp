#include "locks/call_of_parts.hpp"

#include <boost/asio/dispatch.hpp>

#include <utility>

namespace redlock::inline v0::detail {

void start_wait_lost(std::shared_ptr<stake> s, error_handler done)
{
    if (!s || s->lock.state->abandoned())
        return done(make_error_code(errc::not_held));
    if (!s->parts().empty())
        return call_of_parts::start(s, start_wait_lost, std::move(done), call_of_parts::ends::with_the_first);
    auto& held = s->lock;
    auto w = std::make_shared<held_lock::wait>(std::move(s), std::move(done));
    w->done.on_cancel(w);
    asio::dispatch(held.state->strand(), [&held, w = std::move(w)]() mutable {
        if (w->done)  // not cancelled yet
            held.add(std::move(w));
    });
}

}  // namespace redlock::detail
