// Shared by the models of fencing tokens: counters that nodes may forget, and attempts that have completed.
#pragma once

#include <algorithm>
#include <cstdint>

namespace redlock::model {

/// The number of nodes from which the client has one of the answers @p which.
unsigned count_answers(auto const& attempt, int which)
{
    return static_cast<unsigned>(std::ranges::count_if(attempt.at, [&](auto at) { return (at & which) != 0; }));
}

bool has_begun(auto const& attempt) { return attempt.number != 0 || attempt.value != 0; }

/// Sets the floor of an attempt that begins: the highest number that is complete at that moment.
void note_floor(auto const& attempts, auto& me)
{
    if (has_begun(me))
        return;
    for (auto const& other : attempts) {
        if (other.completed)
            me.floor = std::max(me.floor, other.number);
    }
}

/// The number that a quorum has taken or answered; 0: none yet.
std::uint8_t decided(auto const& attempt, unsigned quorum, int taken, int answered)
{
    for (auto const number : {attempt.number, attempt.value}) {
        auto const which = (attempt.number == number ? taken : 0) | (attempt.value == number ? answered : 0);
        if (number != 0 && count_answers(attempt, which) >= quorum)
            return number;
    }
    return 0;
}

/// The node forgets its counter. Returns false if it cannot: it has no counter, or too many others have forgotten
/// theirs.
bool forget(auto& nodes, unsigned n, unsigned forgetful)
{
    auto& node = nodes[n];
    auto const others = std::ranges::count_if(nodes, [](auto const& other) { return other.forgot; });
    if (node.counter == 0 || (!node.forgot && others >= static_cast<int>(forgetful)))
        return false;
    node = {.forgot = true};
    return true;
}

}  // namespace redlock::model
