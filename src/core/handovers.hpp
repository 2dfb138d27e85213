#pragma once

#include "core/backoff.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// For how long the nodes remember, after the end of a lock, who was denied it; and that a process keeps one for its
/// own waiters: whoever else waits looks again then at the latest.
inline constexpr std::chrono::milliseconds wanted_life = std::chrono::seconds(1);

/// For how long at most a manager yields, where others did not come.
inline constexpr std::chrono::milliseconds yield_max{500};

/** How long a manager yields a lock to others, so that each of those it has woken asks first: longer than any @ref
    delay_after of theirs, as far as their round trips are like ours.
*/
inline std::chrono::nanoseconds yield_time(std::chrono::nanoseconds round_trip, std::uint64_t bits) noexcept
{
    using namespace std::chrono;
    auto const unit = std::clamp<nanoseconds>(round_trip, 100us, 16ms);
    return unit * 17 + part_of(unit * 4, bits);
}

/** A batch of hand-overs: a lock that others want, too, goes from one waiter of a manager to the next.

    Who was waiting in this manager when it was learned that others wait elsewhere comes first, up to a limit; then the
    manager yields.
*/
class handovers {
public:
    /// @param waiting in this manager, now
    handovers(std::size_t waiting, std::size_t limit) noexcept : left_(std::min(waiting, limit)) {}

    /// The lock is given back. @return whether the next one of this manager may have it at once
    bool next() noexcept { return left_ > 0 && left_-- > 0; }

private:
    std::size_t left_;
};

}  // namespace redlock::core
