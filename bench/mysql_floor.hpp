#pragma once

#include "sample.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::bench {

#ifdef REDLOCK_HAS_MYSQL
/// Calls the procedures of a lock and its release with the blocking client library. Each connection has a thread.
sample run_mysql_floor(std::uint16_t port, std::size_t connections, std::chrono::milliseconds);
#else  // never called
inline sample run_mysql_floor(std::uint16_t, std::size_t, std::chrono::milliseconds) { return {}; }
#endif

}  // namespace redlock::bench
