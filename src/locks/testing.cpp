#include <redlock/testing.hpp>

#include "locks/held_lock.hpp"

#include <boost/asio/dispatch.hpp>

namespace redlock::testing {

void lose(lock_handle const& l)
{
    auto const held = detail::access::held(l);
    if (held && !held->state->abandoned())
        asio::dispatch(held->state->strand(), [held] { held->lose_in_test(); });
}

}  // namespace redlock::testing
