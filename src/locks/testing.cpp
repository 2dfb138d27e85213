#include <redlock/testing.hpp>

#include "locks/held_lock.hpp"

#include <boost/asio/dispatch.hpp>

namespace redlock::inline v0::testing {

void lose(lock_handle const& l)
{
    auto const stake = detail::access::stake_of(l);
    if (stake && !stake->lock.state->abandoned())
        asio::dispatch(stake->lock.state->strand(), [stake] {
            if (stake->lock.validity.is(detail::held_lock::condition::held))
                stake->lock.lose(loss::expired, "a test has lost it");
        });
}

}  // namespace redlock::testing
