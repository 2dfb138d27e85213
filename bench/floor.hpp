#pragma once

#include "net/url.hpp"
#include "sample.hpp"

#include <chrono>
#include <cstddef>
#include <vector>

namespace redlock::bench {

/// What the floor does, over and over.
struct floor_work {
    std::size_t clients = 256;
    std::chrono::milliseconds duration{1500};
    bool majority = false;              ///< a step is over when a majority has answered; otherwise when all have
    double rate = 0;                    ///< cycles per second, evenly spread over the clients; 0: as fast as it goes
    std::chrono::microseconds hold{0};  ///< between lock and release; the release then leaves together with the next
                                        ///< lock
    bool extend = false;  ///< a cycle is one extension of a key that is there, instead of lock and release
};

/** The least that any client must do: the same commands as the library, on raw sockets, and replies are counted.

    Each client locks and unlocks a key of its own on all servers. What is due after one wait for events leaves
    together, one write per server. Replies are not understood; nothing is timed, retried or cleaned up.

    @throws std::runtime_error if a server cannot be reached, or falls silent for five seconds
*/
sample run_floor(std::vector<net::url> const& nodes, floor_work const& work);

}  // namespace redlock::bench
