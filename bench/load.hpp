#pragma once

#include "sample.hpp"

#include <redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace redlock::bench {

namespace asio = boost::asio;

/// The cycles that the clients of the library repeat.
struct work {
    std::size_t clients = 256;
    std::chrono::milliseconds duration{1500};
    bool one_key = false;   ///< all clients wait for the same lock; false: each client has its own
    std::size_t slots = 0;  ///< all clients wait for any one of so many locks; 0: see `one_key`
    std::size_t names = 1;  ///< resources that each client locks at once
    double readers = 0;     ///< with one_key: the share of shared cycles, at random; `wait` is that of the other cycles
    std::chrono::microseconds hold{0};  ///< between lock and release
    double rate = 0;                    ///< cycles per second of all clients, evenly spread; 0: as fast as possible
    std::chrono::milliseconds ttl{10'000};
    std::string note{};                  ///< of each lock
    std::atomic<int>* inside = nullptr;  ///< with one_key or slots: holders in all processes
    /// Each function is called at its time after the beginning, and again every millisecond while it returns true.
    std::vector<std::pair<std::chrono::milliseconds, std::function<bool()>>> events{};
};

/// The settings of the load for Redis servers: the defaults, but without the restart guard.
manager_options settings_for(std::vector<std::string> nodes, bool fencing = false);

/// Runs the library under load: one thread, one manager, a coroutine for each client.
class load {
public:
    explicit load(std::vector<std::string> nodes, bool fencing = false);
    explicit load(manager_options);
    ~load();

    /// Runs cycles. The sample has no counters of the servers; laboratory::observe adds them.
    sample run(work const&);

    /// Holds @p count locks with automatic renewal for @p duration. A cycle is a renewal.
    sample hold(std::size_t count, std::chrono::milliseconds ttl, std::chrono::milliseconds duration,
                std::map<std::string, double>& more);

    redlock::stats stats() const { return locks_.stats(); }

    /// Calls @p done every millisecond until it returns true, or @p timeout is over.
    /// @return the time that this took
    std::chrono::nanoseconds until(std::function<bool()> done, std::chrono::milliseconds timeout);

    /// The longest acquisition that ended after the first event of the latest run.
    std::chrono::nanoseconds longest_after_event() const { return longest_after_event_; }

private:
    using steady = std::chrono::steady_clock;

    asio::awaitable<void> client(std::size_t number, work const& w);
    void note_wait(steady::time_point begun);
    void note_end(steady::time_point begun, error_code);
    asio::awaitable<void> happen(std::chrono::milliseconds at, std::function<bool()> what);
    asio::awaitable<void> take(std::vector<redlock::lock>& held, std::size_t first, std::size_t step, std::size_t count,
                               std::chrono::milliseconds ttl);
    void run_until_idle();
    void poll_interrupts();
    void one_less();

    asio::io_context context_{1};
    asio::steady_timer interrupt_timer_{context_};
    redlock::lock_manager locks_;
    sample now_;
    std::vector<int> inside_;  ///< by key: the weight of its holders
    steady::time_point begin_, end_;
    std::optional<steady::time_point> event_;
    std::chrono::nanoseconds longest_after_event_{0};
    /// All clients share it. Generators with similar seeds would draw similar numbers, and writers would come in
    /// bursts.
    std::mt19937 random_;
    std::size_t running_ = 0;  ///< coroutines that refer to the work
    bool has_held_ = false;
};

}  // namespace redlock::bench
