#pragma once

#include "sample.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::bench {

#ifdef REDLOCK_HAS_ZOOKEEPER
/// The transactions of a lock and its release, by the client library as it comes: so many at once, in one session.
sample run_zookeeper_floor(std::uint16_t port, std::size_t clients, std::chrono::milliseconds);
#else  // nobody calls it
inline sample run_zookeeper_floor(std::uint16_t, std::size_t, std::chrono::milliseconds) { return {}; }
#endif

}  // namespace redlock::bench
