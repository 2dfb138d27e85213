#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace redlock::core {

/// Tokens stay below: every number up to here is exact in a server's scores, and in most languages' arithmetic.
inline constexpr std::uint64_t fence_end = std::uint64_t(1) << 53;

/// For how long a tombstone stays: longer than a connection or a server that stands still keeps a request, usually.
inline constexpr std::chrono::milliseconds tombstone_life = std::chrono::minutes(10);

/** The tokens that a client proposes: the wall clock in microseconds, in steps of 16. They never go back.

    Proposals within one step are equal, so that no rate of proposals gets ahead of the clock. Tokens stay unique all
    the same: a node takes only what is higher than its counter. A second proposal for one resource within a step costs
    a second round.

    Where no counter has forgotten, the clock decides nothing but how often a proposal is too low, and may be wrong.
    Where one has, it keeps tokens growing. The low bits say who proposes: two equal proposals to nodes that forgot
    would be two equal tokens.
*/
class fence_clock {
public:
    /// @param lead_max how far it may get ahead of the wall clock. Half of max_ttl leaves as much for clocks to differ:
    /// a node that has forgotten is out of quarantine only when any client proposes more than what was given out
    /// before.
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

    /// A counter has come this far. Another client's clock is ahead of ours: we keep up with it, unless it is too far
    /// ahead, or every resource would follow the worst clock of all.
    /// @return false: it is too far ahead
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
    static constexpr std::uint64_t year_2200 = 7'258'118'400'000'000;  // a clock beyond that is broken; tokens last
                                                                       // until 2255

    std::uint64_t last_;
    std::uint64_t lead_max_;
    std::uint64_t lead_ = 0;
};

/** What the nodes' counters, each raised for the same grant, make the token: the highest number that @p needed of them
    have come to, or 0 if there is none. Of one that suffices alone any number will do that its counter has not had
    before.
*/
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

/// The highest of the nodes' counters, and how many of them have come exactly so far.
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
