#pragma once

#include <redlock/mode.hpp>
#include <redlock/resource_set.hpp>

#include <cstdint>
#include <string>

namespace redlock::inline v1 {

/** The data with which another process can resume a lock. `lock::detach` returns it; `lock_manager::async_resume` and
    `lock_manager::async_release` take it, with the same nodes and the same `manager_options::prefix`.

    It consists of names and numbers, which can be written to a file and read again. Anybody who has it can release the
    lock, so do not log it. It proves nothing: it may be a copy, and the lock may have ended.

    @par Thread safety
    A value: distinct objects are safe.
*/
struct lock_ticket {
    /// All names that are locked, 1 to 256: see `lock_manager::async_acquire`.
    resource_set resources{};

    /// The lock's secret value (`lock::token`), or the value that a client of another kind has given the key. 1 to 512
    /// bytes, but not `:=shared`.
    std::string token{};

    /// The mode of the acquisition: exclusive or shared.
    redlock::mode mode = mode::exclusive;

    /// The fencing token (`lock::fencing_token`), below 2^53. Zero: there is none, or it is not known.
    std::uint64_t fencing_token = 0;

    /// Whether both are tickets of the same lock, with the same numbers.
    friend bool operator==(lock_ticket const&, lock_ticket const&) = default;
};

}  // namespace redlock
