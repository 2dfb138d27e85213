#pragma once

#include "events/event_line.hpp"
#include "runtime/runtime.hpp"
#include "events/user_calls.hpp"

#include <redlock/clock.hpp>
#include <redlock/log.hpp>
#include <redlock/observer.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace redlock::inline v1::events {

/** Passes lines and events to the log function and the observer of the manager_options, in one order. On the strand.

    The log function receives at most @ref lines_max lines each second, and as many of the level debug. A line reports
    how many were left out. The observer receives every event, and every line that has no event.
*/
class event_log : public std::enable_shared_from_this<event_log> {
public:
    event_log(std::shared_ptr<runtime::runtime> const&, log_function, std::shared_ptr<observer>);

    static constexpr std::size_t lines_max = 100;

    /// Whether there is an observer. If not, events without a line cost nothing.
    bool observed() const noexcept { return observer_ != nullptr; }

    /// Adds a line that has no event.
    void add(log_level, clock::time_point now, std::string_view line) noexcept;

    /// Adds a line about the longest stall since the latest such line, if it lasted for @p at_least. The log adds such
    /// a line before each warning, because after a stall servers seem to be slow or away that are not.
    void tell_stall(clock::duration at_least) noexcept;

    template <class Arg, class... Args>
    void add(log_level level, clock::time_point now, fmt::format_string<Arg, Args...> format, Arg&& arg,
             Args&&... args) noexcept
    {
        try {
            if (log_ || observed())
                add(level, now, fmt::format(format, std::forward<Arg>(arg), std::forward<Args>(args)...));
        } catch (...) {  // out of memory: the line is left out
        }
    }

    /// Passes on an event without a line. Call it only if there is an observer.
    /// @param alive the owner of what the event refers to
    template <class Event>
    void tell(void (observer::*what)(Event const&), std::type_identity_t<Event> const& e,
              std::shared_ptr<void const> alive) noexcept
    {
        calls_->add([self = shared_from_this(), what, e, alive = std::move(alive)] {
            try {
                (self->observer_.get()->*what)(e);
            } catch (...) {
                self->observer_threw(e.when);
            }
        });
    }

    /// Passes on an event with a line, also if there is no observer.
    template <class Event>
    void announce(void (observer::*what)(Event const&), std::type_identity_t<Event> const& e,
                  std::shared_ptr<void const> alive) noexcept
    {
        try {
            if (log_) {
                auto const line = describe(e);
                tell_stall_before(line.level);
                put(line.level, e.when, line.sentence);
            }
        } catch (...) {  // out of memory: the line is left out
        }
        if (observed())
            tell(what, e, std::move(alive));
    }

    /// Reports how many lines were left out last, and ends the calls.
    void end(std::function<void()> then);

    /// The queue of calls of the user's functions.
    std::shared_ptr<user_calls> const& calls() const noexcept { return calls_; }

    /// @ref add as a function. Empty if there is neither a log function nor an observer.
    log_function as_function();

private:
    // The lines of one kind: their number in the current second, and how many were left out.
    struct allowance {
        clock::time_point since = clock::time_point::min();
        std::size_t used = 0;
        std::size_t left_out = 0;
    };

    void tell_stall_before(log_level) noexcept;
    void put(log_level, clock::time_point now, std::string_view line);
    void put_unlimited(log_level, std::string_view line);
    void observer_threw(clock::time_point now) noexcept;

    std::weak_ptr<runtime::runtime const> const runtime_;  // a node of the user may keep the log longer
    log_function const log_;
    std::shared_ptr<observer> const observer_;
    std::shared_ptr<user_calls> const calls_;
    allowance debug_;
    allowance others_;
    clock::time_point told_stalls_until_ = clock::time_point::min();
    bool observer_threw_ = false;
};

}  // namespace redlock::events
