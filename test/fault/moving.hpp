#pragma once

#include "fault/options.hpp"

namespace redlock::test {

/** Clients lock and draw tokens while the set of nodes changes, by the procedure of docs/protocol.md: one node at a
    time, on real servers.

    The counters are a day ahead of all clocks, so clocks do not make tokens increase. Servers are paused at the worst
    moments.

    @return 0 if no two clients ever held the same lock, and every token was higher than those of acquisitions that were
    complete before. With `raise_early`, the counters are raised before the clients move: 0 if tokens decreased
*/
int moving_set(soak_options const&);

}  // namespace redlock::test
