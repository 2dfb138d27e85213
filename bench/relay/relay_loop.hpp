#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace redlock::bench {

/// Where connections for one target arrive.
struct relay_door {
    int listener = -1;
    std::uint16_t target_port = 0;
    std::atomic<std::int64_t> const* one_way_ns = nullptr;
};

/** Relays, in the calling process, until that is killed.

    @param epoll,timer,doors sockets and files that do not block and are used for nothing else
    @throws std::runtime_error when it cannot go on, naming what failed
*/
[[noreturn]] void run_relay(int epoll, int timer, std::vector<relay_door> const& doors);

}  // namespace redlock::bench
