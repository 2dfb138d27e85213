#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace redlock::bench {

/** The least that any client must do: the same commands as the library, on raw non-blocking sockets.

    @p clients tasks each lock and unlock a key of their own on all servers, over and over, for @p duration. What is
    due after one wait for events leaves together, one write per server. Replies are counted, not understood;
    nothing is timed, retried or cleaned up.

    @return the number of cycles
    @throws std::runtime_error if a server cannot be reached
*/
std::size_t run_floor(std::vector<std::uint16_t> const& ports, std::size_t clients, std::chrono::milliseconds duration);

}  // namespace redlock::bench
