#pragma once

#include <redlock/clock.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <map>

namespace redlock::test {

// Programs that use this header link virtual_clock.cpp.

/** Advances the clocks of this process and the timers of its event loops, as if the process had been paused.

    The time of servers does not change, so use it only for times that the client measures, such as a quarantine.
*/
void skip_time(clock::duration);

/** Replaces the clocks of this program while it exists, and the timers of event loops that are made meanwhile. Its time
    moves only when the test moves it.

    It has no effect on sockets and other programs. Only one may exist at a time.
*/
class virtual_clock {
public:
    virtual_clock();
    ~virtual_clock();
    virtual_clock(virtual_clock const&) = delete;
    virtual_clock& operator=(virtual_clock const&) = delete;

    clock::time_point now() const noexcept { return now_; }
    void advance(clock::duration d) { set(now_ + d); }

    /// Runs the event loop. When no handler is ready, it advances the time to the next timer.
    /// @return whether @p done was true within a virtual hour
    template <class Condition>
    bool run_to(boost::asio::io_context& context, Condition done)
    {
        for (auto const end = now_ + std::chrono::hours(1);;) {
            context.restart();
            while (!done() && context.poll_one() > 0) {
            }
            if (done())
                return true;
            auto const next = next_timer();
            if (next > end)
                return false;
            set(next);
        }
    }

    void run_for(boost::asio::io_context& context, clock::duration d)
    {
        auto const end = now_ + d;
        for (auto next = now_; next <= end; next = next_timer()) {
            set(next);
            context.restart();
            context.poll();
        }
        set(end);
    }

    /// Makes a descriptor readable after @p d. It replaces an earlier timer of the descriptor.
    void set_timer(int descriptor, clock::duration d);

private:
    void set(clock::time_point);
    clock::time_point next_timer() const;  ///< the maximum if there is none

    clock::time_point now_{std::chrono::hours(1)};
    std::map<int, clock::time_point> timers_;
};

}  // namespace redlock::test
