#pragma once

#include "net/url.hpp"
#include "sample.hpp"

#include <chrono>
#include <cstddef>
#include <vector>

namespace redlock::bench {

/// The cycles that the floor repeats.
struct floor_work {
    std::size_t clients = 256;
    std::chrono::milliseconds duration{1500};
    bool majority = false;              ///< a step ends after the replies of a majority; false: of all servers
    double rate = 0;                    ///< cycles per second of all clients, evenly spread; 0: as fast as possible
    std::chrono::microseconds hold{0};  ///< between lock and release; if set, release and next lock are sent together
    bool extend = false;                ///< a cycle is an extension of a held key, instead of lock and release
};

/** Measures the minimal work of a client: it sends the library's commands on raw sockets, and counts replies.

    Each client locks and unlocks a key of its own on all servers. The commands that are due after a wait for events
    leave in one write per server. The floor does not parse replies, and has no timeouts, retries or clean-up.

    @throws std::runtime_error if a server cannot be reached, or does not answer for five seconds
*/
sample run_floor(std::vector<net::url> const& nodes, floor_work const& work);

}  // namespace redlock::bench
