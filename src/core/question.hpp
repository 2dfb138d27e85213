#pragma once

#include <cstddef>

namespace redlock::core {

/// The history of an acquisition, before it asks the nodes.
struct history {
    std::size_t rounds = 0;     ///< lost rounds so far
    bool queued = false;        ///< it was in the queue behind other acquisitions of its manager, or behind the holder
    bool yielded = false;       ///< its manager let other managers have the lock first
    bool drawn = false;         ///< chosen at random to find out whether other managers wait
    bool others_queue = false;  ///< other acquisitions of its manager queue behind it
};

/// How an acquisition asks the nodes for a lock.
struct question {
    /// Asks whether others want the lock, and for how long it is denied; a plain acquisition, the usual case, does not.
    bool contends = false;
    bool more_follow = false;  ///< if it contends: other acquisitions of its manager take over the lock
    bool watches = false;      ///< if it contends: nodes that deny must notify of changes

    friend bool operator==(question const&, question const&) = default;
};

constexpr question question_for(history const& h) noexcept
{
    bool const lost_before = h.rounds > 0;
    bool const takes_over = h.queued && !h.yielded && !lost_before;  // it expects to be granted
    return {.contends = h.queued || h.drawn || h.yielded || lost_before,
            .more_follow = takes_over || h.others_queue,
            .watches = h.yielded || lost_before};
}

}  // namespace redlock::core
