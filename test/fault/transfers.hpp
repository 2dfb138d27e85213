#pragma once

#include "fault/options.hpp"

#include <atomic>
#include <cstdint>

namespace redlock::test {

/// What the processes share.
struct shared_transfers {
    std::atomic<std::uint64_t> done;            ///< transfers that were committed
    std::atomic<std::uint64_t> right;           ///< Sums of all accounts that were as at the beginning …
    std::atomic<std::uint64_t> wrong;           ///< … and that were not.
    std::atomic<std::uint64_t> begun;           ///< sums, whose accounts were entered
    std::atomic<std::uint64_t> beside;          ///< sums during which another began, and the lock was held to the end
    std::atomic<std::uint64_t> refused;         ///< acquisitions that failed
    std::atomic<std::uint64_t> refused_inside;  ///< by the bank, and the lock was held still: somebody else held it,
                                                ///< too
    std::atomic<bool> stop;
};

/** Transfers between the accounts of a @ref bank, each under a lock of its accounts, and now and then a sum under a
    lock of all.

    Every sum must be right, while servers and processes fail. Without the lock nothing fails, and wrong sums must be
    seen. With soak_options::audit there is one lock, which transfers have alone and sums share, so that several add up
    beside each other.
    @return the exit status
*/
int soak_transfers(soak_options const&);

}  // namespace redlock::test
