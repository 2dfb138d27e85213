#pragma once

#include "fault/options.hpp"

#include <atomic>
#include <cstdint>

namespace redlock::test {

/// The processes share this memory.
struct shared_transfers {
    std::atomic<std::uint64_t> done;     ///< transfers that were committed
    std::atomic<std::uint64_t> right;    ///< sums of all accounts that were right
    std::atomic<std::uint64_t> wrong;    ///< sums of all accounts that were wrong
    std::atomic<std::uint64_t> begun;    ///< sums that have entered their accounts
    std::atomic<std::uint64_t> beside;   ///< sums during which another one began, with the lock held to the end
    std::atomic<std::uint64_t> refused;  ///< acquisitions that failed
    /// The bank refused a request although the lock was held. So another process held the lock, too.
    std::atomic<std::uint64_t> refused_inside;
    std::atomic<bool> stop;
};

/** Transfers between the accounts of a @ref bank, each under a lock of its accounts. Sometimes a process adds up all
    accounts, under a lock of all.

    Every sum must be right, while servers and processes fail. Without the lock nothing fails, and wrong sums must be
    seen. With soak_options::audit there is one lock, exclusive for transfers and shared for sums, so that several sums
    run at the same time.
    @return the exit status
*/
int soak_transfers(soak_options const&);

}  // namespace redlock::test
