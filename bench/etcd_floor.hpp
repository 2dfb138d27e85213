#pragma once

#include "sample.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::bench {

/// The transactions of a lock and its release as raw requests, one for each: a thread for each connection, which waits.
sample run_etcd_floor(std::uint16_t port, std::size_t connections, std::chrono::milliseconds);

}  // namespace redlock::bench
