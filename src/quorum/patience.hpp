#pragma once

#include "quorum/ballot_set.hpp"

#include <redlock/clock.hpp>

// For how long a round waits for each node: for `node_set::timeout`, from the moment at which the requests are sent. A
// round that connects adds `manager_options::connect_timeout`.

namespace redlock::inline v1::quorum {

/// The requests are sent now: each node's time begins.
void begin_times(ballot_set&);

/// When the round stops waiting for the node.
clock::time_point due(ballot_set const&, ballot const&);

/// When the round stops waiting for the next node. Max: it waits for none.
clock::time_point next_due(ballot_set const&);

/// How long the quickest majority may need to answer, without the nodes that were silent.
clock::duration time_for_majority(ballot_set const&);

}  // namespace redlock::quorum
