#pragma once

#include "core/backoff.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// How long nodes remember, after the end of a lock, which clients they denied it to. They remember equally long that a
/// process hands the lock over to its own waiters. Other waiters ask again after this time at the latest.
inline constexpr std::chrono::milliseconds wanted_life = std::chrono::seconds(1);

/// So many of the clients that wait for a lock ask when it is free. The others stand by. contend.lua has it, too.
inline constexpr std::uint32_t line_front = 3;

/// While an acquisition of several resources waits for some of them, so many that want one of the others pass it.
inline constexpr std::size_t passes_max = 16;

/// So many readers that come later join a lock that their manager shares already. Each may keep the lock a little
/// longer, and a waiting writer must not starve.
inline constexpr std::size_t late_readers_max = 16;

/// The longest time that a manager yields if no other client takes the lock.
inline constexpr std::chrono::milliseconds yield_max{500};

/// How long a manager yields a lock, so that every notified client asks first. The time is longer than any
/// @ref delay_after of these clients, if their round trips are like ours.
inline std::chrono::nanoseconds yield_time(std::chrono::nanoseconds round_trip, std::uint64_t bits) noexcept
{
    using namespace std::chrono;
    auto const unit = std::clamp<nanoseconds>(round_trip, 100us, 16ms);
    return unit * 17 + part_of(unit * 4, bits);
}

/** A batch of hand-overs: the lock goes from one waiter of a manager to the next, although other managers want it.

    The batch contains the waiters that were in the queue when the manager learned of the others, up to a limit. After
    them the manager yields.
*/
class handovers {
public:
    /// @param waiting the waiters in this manager's queue now
    handovers(std::size_t waiting, std::size_t limit) noexcept : left_(std::min(waiting, limit)) {}

    /// Call it when the lock is released. Returns whether the next waiter of this manager gets it immediately.
    bool next() noexcept { return left_ > 0 && left_-- > 0; }

private:
    std::size_t left_;
};

}  // namespace redlock::core
