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

/// What the library is made to do, over and over.
struct work {
    std::size_t clients = 256;
    std::chrono::milliseconds duration{1500};
    bool one_key = false;   ///< all clients want the same lock, and wait for it; otherwise each has its own
    std::size_t slots = 0;  ///< all clients want any one of so many locks, and wait for it; 0: see above
    std::size_t names = 1;  ///< how many resources each client locks at once
    double readers = 0;     ///< with one key: so many of the cycles share it, drawn by lot; what is waited for is then
                            ///< that of the others
    std::chrono::microseconds hold{0};  ///< between lock and release
    double rate = 0;                    ///< cycles per second, evenly spread over the clients; 0: as fast as it goes
    std::chrono::milliseconds ttl{10'000};
    std::atomic<int>* inside = nullptr;  ///< with one key, or slots: how many of all processes believe they have it, or
                                         ///< one
    /// Called on the way, each at its time after the beginning, and again every millisecond while it returns true.
    std::vector<std::pair<std::chrono::milliseconds, std::function<bool()>>> events{};
};

/// What it works with on Redis servers.
config settings_for(std::vector<std::string> nodes, std::chrono::milliseconds node_timeout, bool fencing = false);

/// The library under load: one thread, one manager, a coroutine for each client.
class load {
public:
    load(std::vector<std::string> nodes, std::chrono::milliseconds node_timeout, bool fencing = false);
    explicit load(config);
    ~load();

    /// What processes outside use is not in it, see @ref measured.
    sample run(work const&);

    /// Holds @p count locks with automatic renewal for @p duration. A cycle is a renewal.
    sample hold(std::size_t count, std::chrono::milliseconds ttl, std::chrono::milliseconds duration,
                std::map<std::string, double>& more);

    redlock::stats stats() const { return locks_.stats(); }

    /// Calls @p look every millisecond until it returns true, or @p patience is over.
    /// @return how long that took
    std::chrono::nanoseconds until(std::function<bool()> look, std::chrono::milliseconds patience);

    /// The longest acquisition that ended after the time of the event, in the latest run with events.
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
    void look_out();
    void one_less();

    asio::io_context context_{1};
    asio::steady_timer look_out_{context_};
    redlock::lock_manager locks_;
    sample now_;
    std::vector<int> inside_;  ///< by key: clients that believe they have it
    steady::time_point begin_, end_;
    std::optional<steady::time_point> event_;
    std::chrono::nanoseconds longest_after_event_{0};
    std::mt19937 random_;      ///< one for all: several whose seeds are near each other draw alike, and writers came in
                               ///< bursts
    std::size_t running_ = 0;  ///< coroutines that refer to the work
    bool has_held_ = false;
};

}  // namespace redlock::bench
