#pragma once

#include "sample.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::bench {

#ifdef REDLOCK_HAS_MYSQL
/// The calls of a lock and its release, by the client library as it comes: a thread for each connection, which waits.
sample run_mysql_floor(std::uint16_t port, std::size_t connections, std::chrono::milliseconds);
#else  // nobody calls it
inline sample run_mysql_floor(std::uint16_t, std::size_t, std::chrono::milliseconds) { return {}; }
#endif

}  // namespace redlock::bench
