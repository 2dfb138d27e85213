#pragma once

/** @file
    For tests of code that uses locks: time that the test sets, and a loss at a chosen moment. With `memory://` nodes,
    see @ref redlock::memory_server, a test of a loss, a renewal or a quarantine takes no real time and is
    deterministic.
*/

#include <redlock/clock.hpp>
#include <redlock/detail/api.hpp>
#include <redlock/lock.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace redlock::inline v1::testing {

/** Time that moves only when a test moves it.

    Managers get it from `manager_options::test_clock`, and so do the memory servers that they use. It does not move the
   timers of the code under test, which use real time.

    @par Thread safety
    Safe on shared objects. To make a test repeatable, use one thread for everything except @ref now.
*/
class REDLOCK_API manual_clock {
public:
    manual_clock();   ///< Makes a clock that stands still.
    ~manual_clock();  ///< Drops what is still due.
    manual_clock(manual_clock const&) = delete;
    manual_clock& operator=(manual_clock const&) = delete;

    /// The time of this clock. May be called from any thread.
    clock::time_point now() const noexcept;

    /** Moves the time on by @p d. Everything that is due meanwhile happens at its time; before that, all ready work of
        @p context runs.

        It runs handlers in the calling thread; their exceptions are passed on. It must not be called by code that runs
        in @p context.

        @param context The context of the managers. It is restarted if it was stopped.
        @param d The time to pass. Zero or less: only ready work runs.
    */
    void advance(asio::io_context& context, clock::duration d);

    // For the library itself.
    using event = std::pair<clock::time_point, std::uint64_t>;
    event at(clock::time_point, std::function<void()>);
    void forget(event const&);

private:
    struct state;
    std::unique_ptr<state> state_;
};

/// Makes the lock count as lost from now on, as if its validity were about to end. `lock::async_wait_lost` completes,
/// and the body of a `with_lock` is cancelled, when the manager's strand runs next. Has no effect if the lock is not
/// held. May be called from any thread; does not wait.
REDLOCK_API void lose(lock_handle const&);

}  // namespace redlock::testing
