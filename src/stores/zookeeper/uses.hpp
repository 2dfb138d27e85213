#pragma once

#include <redlock/clock.hpp>

#include <algorithm>
#include <deque>

namespace redlock::stores::zookeeper {

/** The times when a session was used, and until when these uses certainly keep it.

    The leader ends sessions. A server reports the uses of a session to the leader with its next ping, half a tick
    later. The timeout of a session is at least two ticks. So a use that came a quarter of the timeout before a commit
    was reported before the commit. The leader hears of both from one server, in order. The leader may never hear of
    later uses, if it was cut off from this server.
*/
class uses {
public:
    /// The leader has begun the session, or moved it to another server, after @p asked.
    void begin(clock::time_point asked) { all_ = {asked}; }

    /// The server has answered a request that was sent at @p asked.
    void add(clock::time_point asked, clock::duration timeout)
    {
        all_.push_back(asked);
        while (all_.size() > 1 && all_[1] + timeout / 4 <= asked)
            all_.pop_front();
    }

    /// For how long after @p asked a commit certainly lasts: half of the timeout, or less if the session was unused for
    /// long.
    clock::duration promise(clock::time_point asked, clock::duration timeout) const
    {
        auto reported = all_.front();
        for (auto const used : all_)
            reported = used + timeout / 4 <= asked ? used : reported;
        return std::min(timeout / 2, reported + timeout - asked);
    }

private:
    std::deque<clock::time_point> all_{clock::time_point()};
};

}  // namespace redlock::stores::zookeeper
