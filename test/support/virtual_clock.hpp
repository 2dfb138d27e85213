#pragma once

#include <redlock/clock.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <map>

namespace redlock::test {

// A program that uses these links virtual_clock.cpp.

/** The process stands still for so long, as far as its own clocks and the timers of its event loops can tell: what they
    wait for is due.

    Servers know nothing of it, so this is for what the client alone counts, such as a quarantine.
*/
void skip_time(clock::duration);

/** While it exists, the clocks of this program show its time, and the timers of the event loops that are made meanwhile
    follow it. It moves only when the test moves it.

    Sockets and other programs know nothing of it. There is one at a time.
*/
class virtual_clock {
public:
    virtual_clock();
    ~virtual_clock();
    virtual_clock(virtual_clock const&) = delete;
    virtual_clock& operator=(virtual_clock const&) = delete;

    clock::time_point now() const noexcept { return now_; }
    void advance(clock::duration d) { set(now_ + d); }

    /// Runs the event loop, and moves on to the next timer when nothing else is left to do.
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

    /// A descriptor that an event loop waits for becomes readable after @p d. Replaces what was set before.
    void set_timer(int descriptor, clock::duration d);

private:
    void set(clock::time_point);
    clock::time_point next_timer() const;  ///< the maximum: there is none

    clock::time_point now_{std::chrono::hours(1)};
    std::map<int, clock::time_point> timers_;
};

}  // namespace redlock::test
