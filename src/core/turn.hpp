#pragma once

#include "core/backoff.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// For how long the nodes remember, after the end of a lock, who was denied it; and that a process keeps one for its own waiters:
/// whoever else waits looks again then at the latest.
inline constexpr std::chrono::milliseconds wanted_life = std::chrono::seconds(1);

/// For how long at most, where others did not come.
inline constexpr std::chrono::milliseconds courtesy_max{500};

/** How long a process that lets others have their turn stays away from a lock, so that each of those it has woken asks first:
    longer than any @ref delay_after of theirs, as far as their round trips are like ours.
*/
inline std::chrono::nanoseconds courtesy(std::chrono::nanoseconds round_trip, std::uint64_t bits) noexcept
{
    using namespace std::chrono;
    auto const unit = std::clamp<nanoseconds>(round_trip, 100us, 16ms);
    return unit * 17 + part_of(unit * 4, bits);
}

/** The turn of one process at a lock that others want, too.

    Who was waiting in this process when it was learned that others wait elsewhere comes first, up to a limit; then the
    others have their turn.
*/
class turn {
public:
    /// @param waiting in this process, now
    turn(std::size_t waiting, std::size_t limit) noexcept : left_(std::min(waiting, limit)) {}

    /// The lock is given back. @return whether the next one of this process may have it at once
    bool pass() noexcept { return left_ > 0 && left_-- > 0; }

private:
    std::size_t left_;
};

}  // namespace redlock::core
