#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace redlock::core {

/// Tokens are below 2^53: a server's scores and the numbers of most languages are exact up to there.
inline constexpr std::uint64_t fence_end = std::uint64_t(1) << 53;

/// How long a tombstone stays. A paused connection or server rarely keeps a request for longer.
inline constexpr std::chrono::milliseconds tombstone_life = std::chrono::minutes(10);

/** The tokens that a client proposes: the wall clock in microseconds, in steps of 16. They never decrease.

    Proposals within one step are equal, so proposals never get ahead of the clock, at any rate. Tokens are unique
    nevertheless: a node takes a number only if it is higher than its counter. A second proposal for the same resource
    within a step costs a second round.

    If no node has lost its counter, a wrong clock only makes proposals too low, which costs rounds. If a node has lost
    its counter, the clock keeps the tokens increasing. The low bits differ between most clients: equal proposals to
    nodes without counters would become equal tokens.
*/
class fence_clock {
public:
    /// @param lead_max how far proposals may get ahead of the wall clock. Half of max_ttl leaves the other half for the
    /// difference between clocks. When a node without counters leaves quarantine, each client must propose more than
    /// all earlier tokens.
    constexpr fence_clock(std::uint8_t who, std::chrono::microseconds lead_max) noexcept
        : last_(step + who % step), lead_max_(static_cast<std::uint64_t>(lead_max.count()))
    {
    }

    /// @param wall_clock in microseconds since 1970
    constexpr std::uint64_t next(std::uint64_t wall_clock) noexcept
    {
        auto const who = last_ % step;
        auto const time = wall_clock < year_2200 ? wall_clock + lead_ : 0;
        return last_ = std::max(time - time % step + who, last_);
    }

    /// A counter is at @p counter. If it is ahead of @p wall_clock, another client's clock is ahead of ours. The
    /// proposals then keep up with that clock, unless it is more than `lead_max` ahead. Without this limit, the tokens
    /// of every resource would follow the worst clock of all.
    /// @return false if the counter is too far ahead
    constexpr bool learn(std::uint64_t counter, std::uint64_t wall_clock) noexcept
    {
        if (counter <= wall_clock)
            return true;
        if (counter - wall_clock > lead_max_)
            return false;
        lead_ = std::max(lead_, counter - wall_clock);
        return true;
    }

private:
    static constexpr std::uint64_t step = 16;
    // A later time is a broken clock; tokens last until 2255.
    static constexpr std::uint64_t year_2200 = 7'258'118'400'000'000;

    std::uint64_t last_;
    std::uint64_t lead_max_;
    std::uint64_t lead_ = 0;
};

/// The token that the nodes' counters make: the highest number that @p needed of them have reached. 0 if there is none.
/// Each counter was raised for the same grant. If @p needed is 1, any number is correct that is new to its counter.
template <class Counters>
constexpr std::uint64_t common_counter(Counters counters, std::size_t needed)
{
    std::sort(counters.begin(), counters.end(), std::greater());
    for (std::size_t i = 0; i + needed <= counters.size(); ++i) {
        if (counters[i] == counters[i + needed - 1])
            return counters[i];
    }
    return 0;
}

/// The highest of the nodes' counters, and how many counters are equal to it.
class fence_tally {
public:
    constexpr void add(std::uint64_t counter) noexcept
    {
        if (counter > highest_) {
            highest_ = counter;
            agreed_ = 0;
        }
        agreed_ += counter == highest_;
    }

    constexpr std::uint64_t highest() const noexcept { return highest_; }
    constexpr std::size_t agreed() const noexcept { return agreed_; }

private:
    std::uint64_t highest_ = 0;
    std::size_t agreed_ = 0;
};

}  // namespace redlock::core
