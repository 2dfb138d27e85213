#pragma once

#include <redlock/lock_manager.hpp>
#include <redlock/manager_options.hpp>

#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace redlock::test {

// For workers with fencing tokens. The ttl is short, so that locks often expire. The quarantine is short, so that
// --forgetful servers vote again soon.
inline constexpr std::chrono::milliseconds short_ttl{300};
inline constexpr std::chrono::milliseconds quarantine{2000};

/// The processes share this memory.
struct shared_counter {
    std::uint64_t value;  // not atomic in effect: read, wait, write back
    std::atomic<std::uint64_t> acknowledged;
    std::atomic<std::uint64_t> doubtful;  ///< written, but the lock was not held any more
    std::atomic<std::uint64_t> refused;   ///< acquisitions that failed
    std::atomic<std::uint64_t> lost;      ///< locks that had ended, or nearly, before the write
    std::atomic<bool> stop;
};

using worker = std::function<asio::awaitable<void>(lock_manager&, std::uint8_t number)>;

/// The work of one process: three workers at the same time, with one manager. @return its exit status
int run_three(manager_options, worker const&);

/// Adds to the counter under its lock, or without.
asio::awaitable<void> add(lock_manager&, shared_counter&, std::uint64_t seed, bool locked);

/// Adds to a counter that an @ref arbiter keeps. It is naive on purpose: once it has the lock, it never checks it
/// again.
asio::awaitable<void> add_naively(lock_manager&, shared_counter&, int to_arbiter, std::uint8_t counter,
                                  std::uint64_t seed);

}  // namespace redlock::test
