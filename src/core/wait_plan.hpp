#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace redlock::core {

/** How long a waiter that was denied a lock waits: until the lock may be free on a quorum, or until it asks anyway.

    A round is decided without the nodes that answer late, so the waiter looks at late answers twice. The first look
    comes after two more durations of the round, the second at the nodes' timeout.
*/
template <class TimePoint>
class wait_plan {
public:
    using duration = typename TimePoint::duration;

    enum class action { ask, look, sleep };
    struct step {
        action what;
        TimePoint until;  ///< for a sleep: when it ends, unless a node notifies earlier

        friend bool operator==(step const&, step const&) = default;
    };

    wait_plan(TimePoint asked, TimePoint decided, duration timeout, TimePoint ask_anyway)
        : looks_{decided + 2 * (decided - asked), asked + timeout}, ask_anyway_(ask_anyway)
    {
    }

    /// The next step. @p free_at is when the lock may be free, as far as is known.
    step next(TimePoint now, TimePoint free_at)
    {
        auto const end = std::min(free_at, ask_anyway_);
        if (now >= end)
            return {action::ask, now};
        if (looked_ == looks_.size())
            return {action::sleep, end};
        if (now < looks_[looked_])
            return {action::sleep, std::min(end, looks_[looked_])};
        return {action::look, looks_[looked_++]};
    }

private:
    std::array<TimePoint, 2> looks_;
    std::size_t looked_ = 0;
    TimePoint ask_anyway_;
};

}  // namespace redlock::core
