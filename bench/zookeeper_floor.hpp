#pragma once

#include "sample.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::bench {

#ifdef REDLOCK_HAS_ZOOKEEPER
/// Sends the transactions of a lock and its release with ZooKeeper's client library. All clients share one session.
sample run_zookeeper_floor(std::uint16_t port, std::size_t clients, std::chrono::milliseconds);
#else  // never called
inline sample run_zookeeper_floor(std::uint16_t, std::size_t, std::chrono::milliseconds) { return {}; }
#endif

}  // namespace redlock::bench
