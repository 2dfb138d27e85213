#pragma once

#include <redlock/clock.hpp>

#include <algorithm>
#include <deque>

namespace redlock::stores::zookeeper {

/** When a session was used, and until when that certainly keeps it.

    The server that one talks to reports the use of a session with its next ping to the leader, half a tick later, and
    the leader ends sessions. A session has two ticks at least. So what was used a quarter of the timeout before
    something that was committed has been reported before that: the leader hears of both from one server, in their
    order. Of what was used later it may never have heard, if the two have been cut from each other since.
*/
class uses {
public:
    /// The leader has begun the session, or given it to another server, since @p asked.
    void begin(clock::time_point asked) { all_ = {asked}; }

    /// Somebody answered what was asked then.
    void add(clock::time_point asked, clock::duration timeout)
    {
        all_.push_back(asked);
        while (all_.size() > 1 && all_[1] + timeout / 4 <= asked)
            all_.pop_front();
    }

    /// For how long after it was asked, what has been committed is certain to be there: half of the timeout, unless the
    /// session was unused for long.
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
