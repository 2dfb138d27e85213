#pragma once

#include "sample.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::bench {

/// Sends the transactions of a lock and its release as raw requests. Each connection has a thread that waits.
sample run_etcd_floor(std::uint16_t port, std::size_t connections, std::chrono::milliseconds);

}  // namespace redlock::bench
