#include "locks/held_lock.hpp"

#include <boost/asio/dispatch.hpp>

#include <utility>

namespace redlock::detail {

void start_wait_lost(std::shared_ptr<held_lock> held, error_handler done)
{
    if (!held || held->state->abandoned())
        return done(make_error_code(errc::not_held));
    auto const& strand = held->state->strand();
    auto w = std::make_shared<held_lock::wait>(held, std::move(done));
    w->done.on_cancel(w);
    asio::dispatch(strand, [held = std::move(held), w = std::move(w)]() mutable {
        if (w->done)  // not cancelled yet
            held->add(std::move(w));
    });
}

}  // namespace redlock::detail
