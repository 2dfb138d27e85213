#pragma once

#include "core/schedule.hpp"
#include "runtime/strand.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace redlock::inline v0 {

namespace asio = boost::asio;

namespace runtime {

using alarm = core::alarm<clock::time_point>;

/// Differs between a process and its forks: what the one holds, the other does not. Any thread; reads one number.
unsigned process_life() noexcept;

/** All that a manager takes from the world except its nodes: where to run, the time, and chance.

    Tests put another one in its place and so own the time; the code above is the same. Used as a std::shared_ptr.
*/
class runtime : public std::enable_shared_from_this<runtime> {
public:
    explicit runtime(redlock::runtime::strand on) : strand_(std::move(on)) {}
    virtual ~runtime() = default;

    // Any thread.

    redlock::runtime::strand const& strand() const noexcept { return strand_; }

    clock::time_point now() const noexcept { return abandoned() ? clock::now() : read_clock(); }

    /// Whether the execution context is gone, and with it everything that could still be done; or this process is a
    /// fork of the one that it belongs to.
    bool abandoned() const noexcept { return abandoned_.load(std::memory_order_acquire) || life_ != process_life(); }

    /// What the wall clock shows, in microseconds since 1970. It may be wrong, and jump.
    virtual std::uint64_t wall_clock() const noexcept = 0;

    // On the strand.

    /// 128 bits that nobody can guess, and that no fork, clone or restart repeats.
    virtual std::array<std::uint64_t, 2> random() = 0;

    /// Sets @p a, or moves it.
    void set(alarm& a, clock::time_point at);

    /// No alarm rings any more.
    void stop();

    /// The execution context goes: from now on it counts as @ref abandoned. @return false if it did before
    bool announce_abandonment() noexcept { return !abandoned_.exchange(true, std::memory_order_acq_rel); }

    /// After that: lets go of what refers to the context.
    void abandon();

protected:
    /// The time can be read as long as this exists.
    virtual clock::time_point read_clock() const noexcept = 0;

    /// Calls @p ring on the strand at @p at or soon after. Replaces the previous call.
    virtual void wake_at(clock::time_point at, std::function<void()> ring) = 0;

    /// Forgets the call that is due.
    virtual void forget_call() = 0;

    virtual void let_go() = 0;

private:
    void wake_for(clock::time_point);
    void ring();

    redlock::runtime::strand strand_;
    unsigned const life_ = process_life();
    std::atomic<bool> abandoned_{false};
    core::schedule<clock::time_point> schedule_;
    clock::time_point wake_at_ = clock::time_point::max();
};

/// The real world.
std::shared_ptr<runtime> make_system_runtime(asio::any_io_executor executor);

}  // namespace runtime
}  // namespace redlock
