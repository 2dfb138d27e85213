#pragma once

#include "core/schedule.hpp"
#include "runtime/stalls.hpp"
#include "runtime/strand.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace redlock::inline v1 {

namespace asio = boost::asio;

namespace runtime {

using alarm = core::alarm<clock::time_point>;

/// A number that differs between a process and its forks: a fork does not hold the locks of its parent. From any
/// thread; costs one load.
unsigned process_life() noexcept;

/** The environment of a manager, without its nodes: the strand, the time, and random numbers.

    Tests use another implementation, and so control the time. It is used as a std::shared_ptr.
*/
class runtime : public std::enable_shared_from_this<runtime> {
public:
    explicit runtime(redlock::runtime::strand on) : strand_(std::move(on)), urgent_(strand_.urgent()) {}
    virtual ~runtime() = default;

    // Any thread.

    redlock::runtime::strand const& strand() const noexcept { return strand_; }

    /// The same strand, for timers and nodes: see `strand::urgent`.
    redlock::runtime::strand const& urgent() const noexcept { return urgent_; }

    clock::time_point now() const noexcept { return abandoned() ? clock::now() : read_clock(); }

    /// Whether the execution context has ended, or this process is a fork of the runtime's process.
    bool abandoned() const noexcept { return abandoned_.load(std::memory_order_acquire) || life_ != process_life(); }

    /// How late the alarms rang.
    histogram lateness() const { return stalls_.lateness(); }

    /// The wall clock in microseconds since 1970. It may be wrong, and may jump.
    virtual std::uint64_t wall_clock() const noexcept = 0;

    // On the strand.

    /// 128 unpredictable bits, which no fork, clone or restart repeats.
    virtual std::array<std::uint64_t, 2> random() = 0;

    /// Sets @p a, or moves it.
    void set(alarm& a, clock::time_point at);

    /// The longest of the latest stalls that ended after @p since, or that ends now: the alarm is late, and will ring
    /// soon. Only stalls that began after @p untold. Zero if there is none.
    clock::duration stalled_since(clock::time_point since,
                                  clock::time_point untold = clock::time_point::min()) const noexcept;

    /// Calls @p f before the first alarm rings after a stall of @ref long_stall or more.
    void after_long_stalls(std::function<void()> f) { after_long_stall_ = std::move(f); }
    static constexpr clock::duration long_stall = std::chrono::milliseconds(250);

    /// Clears all alarms.
    void stop();

    /// The execution context ends: the runtime is @ref abandoned from now on. @return false if it already was
    bool announce_abandonment() noexcept { return !abandoned_.exchange(true, std::memory_order_acq_rel); }

    /// Call it after @ref announce_abandonment. Releases all references to the context.
    void abandon();

protected:
    /// Reads the clock. This works as long as the runtime exists.
    virtual clock::time_point read_clock() const noexcept = 0;

    /// Calls @p ring on the strand at @p at or soon after. Replaces the previous call.
    virtual void wake_at(clock::time_point at, std::function<void()> ring) = 0;

    /// Cancels the call.
    virtual void forget_call() = 0;

    virtual void drop_references() = 0;

private:
    void wake_for(clock::time_point);
    void ring();

    redlock::runtime::strand strand_, urgent_;
    unsigned const life_ = process_life();
    std::atomic<bool> abandoned_{false};
    core::schedule<clock::time_point> schedule_;
    clock::time_point wake_at_ = clock::time_point::max();
    stalls stalls_;
    std::function<void()> after_long_stall_;
};

/// The runtime with the system's clock and timer.
std::shared_ptr<runtime> make_system_runtime(asio::any_io_executor executor);

}  // namespace runtime
}  // namespace redlock
