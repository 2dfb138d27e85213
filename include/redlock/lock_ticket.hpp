#pragma once

#include <redlock/mode.hpp>
#include <redlock/resource_set.hpp>

#include <cstdint>
#include <string>

namespace redlock {

/** What another process needs to go on with a lock: `lock::detach` leaves it, `lock_manager::async_resume` and
    `lock_manager::async_release` take it, with the same nodes and the same `config::prefix`.

    Names and numbers, which can be written down and put together again. Whoever has it can release the lock, so it does not belong
    into logs; nor does it prove anything: it may be copied, and the lock may be over.
*/
struct lock_ticket {
    /// All that is locked, 1 to 256 names: see `lock_manager::async_acquire`.
    resource_set resources{};

    /// See `lock::token`; or the value that a client of another kind has given the key: 1 to 512 bytes, and not `:=shared`.
    std::string token{};

    /// As it was acquired: exclusive or shared.
    redlock::mode mode = mode::exclusive;

    /// See `lock::fencing_token`: below 2^53. 0: there is none, or it is not known.
    std::uint64_t fencing_token = 0;

    friend bool operator==(lock_ticket const&, lock_ticket const&) = default;
};

}  // namespace redlock
