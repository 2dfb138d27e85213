#pragma once

/** @file
    For tests of code that locks: time that is set by hand, and a loss that comes now. With `memory://` nodes, see
    @ref redlock::memory_server, a test of a loss, a renewal or a quarantine takes no time and needs no luck.
*/

#include <redlock/clock.hpp>
#include <redlock/detail/api.hpp>
#include <redlock/lock.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace redlock::testing {

/** Time that moves only when a test moves it.

    Managers take it from `config::test_clock`, and with them the memory servers that they name. It does not move the timers of
    the code under test: those go by real time.

    @par Thread safety
    @ref now on any thread; the rest is safe, too, but a test that can be repeated runs everything on one.
*/
class REDLOCK_API manual_clock {
public:
    manual_clock();
    ~manual_clock();
    manual_clock(manual_clock const&) = delete;
    manual_clock& operator=(manual_clock const&) = delete;

    clock::time_point now() const noexcept;

    /** Moves the time on by @p d, and lets everything happen that is due meanwhile: each at its moment, and before that whatever
        @p context has to do. With zero, or less, what can happen now. Not to be called by what runs in @p context. */
    void advance(asio::io_context& context, clock::duration d);

    // For the library itself.
    using event = std::pair<clock::time_point, std::uint64_t>;
    event at(clock::time_point, std::function<void()>);
    void forget(event const&);

private:
    struct state;
    std::unique_ptr<state> state_;
};

/// The lock counts as lost from now on, as if its validity were about to end: whoever waits for that is told, and the body of a
/// `with_lock` is cancelled. Nothing if it is not held. Any thread.
REDLOCK_API void lose(lock_handle const&);

}  // namespace redlock::testing
