#include <redlock/testing.hpp>

#include "locks/held_lock.hpp"

#include <boost/asio/dispatch.hpp>

namespace redlock::inline v1::testing {

void lose(lock_handle const& l)
{
    auto const handle = detail::access::handle_of(l);
    if (handle && !handle->lock.state->abandoned())
        asio::dispatch(handle->lock.state->strand(), [handle] {
            if (handle->lock.validity.is(locks::held_lock::condition::held))
                handle->lock.lose(loss::expired, "a test has lost it");
        });
}

}  // namespace redlock::testing
