#pragma once

#include <cstddef>

namespace redlock::core {

/// What an acquisition has met before it asks the nodes.
struct history {
    std::size_t rounds = 0;     ///< asked so far, all in vain
    bool queued = false;        ///< it was behind others of its manager, or behind the holder
    bool yielded = false;       ///< it let other managers have the lock first
    bool drawn = false;         ///< by lot, from those that may wait: to look whom its manager keeps waiting
    bool others_queue = false;  ///< behind it, in its manager
};

/// How the nodes are asked for a lock.
struct question {
    bool contends = false;  ///< whether others want it, and for how long it is denied; otherwise a plain one: most meet
                            ///< nobody
    bool more_follow = false;  ///< of one that contends: others of its manager take the lock over
    bool watches = false;      ///< of one that contends: nodes that deny are to notify of changes

    friend bool operator==(question const&, question const&) = default;
};

constexpr question question_for(history const& h) noexcept
{
    bool const lost_before = h.rounds > 0;
    bool const takes_over = h.queued && !h.yielded && !lost_before;  // it does not expect to be denied
    return {.contends = h.queued || h.drawn || h.yielded || lost_before,
            .more_follow = takes_over || h.others_queue,
            .watches = h.yielded || lost_before};
}

}  // namespace redlock::core
