#pragma once

#include "fault/options.hpp"

namespace redlock::test {

/** Clients lock and draw tokens while the set of nodes changes, as docs/protocol.md says: one node at a time, on real
    servers.

    The counters are a day ahead of all clocks, so that nothing else makes tokens grow. Servers stand still at the worst
    moments.

    @return 0 if no two clients ever held the same lock, and every token was higher than those that were complete
    before. With `raise_early` the counters are raised before the clients move: 0 if tokens were then seen to fall
*/
int moving_set(soak_options const&);

}  // namespace redlock::test
