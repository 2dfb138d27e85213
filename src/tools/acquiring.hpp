#pragma once

#include "tools/command_line.hpp"

#include <redlock/lock_manager.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/signal_set.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace redlock::tools {

namespace asio = boost::asio;

/// How a command acquires its locks: its options for that.
struct how_to_acquire {
    std::vector<std::string> keys{};
    std::chrono::milliseconds ttl{10'000};
    std::chrono::milliseconds wait{0};
    std::chrono::milliseconds max_hold{0};
    bool at_once = false;
    bool is_limited = false;  ///< by @ref wait
    bool shared = false;
    bool fencing = false;
    renewal renew = renewal::automatic;

    void add_to(command_line&);
    acquire_options options(attempt_report&) const;
};

/// How an acquisition has ended.
struct acquired {
    lock held{};            ///< empty: it failed
    int status = 0;
    std::string message{};  ///< for people, if it failed
    std::chrono::milliseconds waited{0};
};

/// The next of @p signals that is to end a program: SIGHUP, SIGINT, SIGQUIT or SIGTERM. Others are ignored. @p number is 0 until then.
asio::awaitable<void> wait_for_end(asio::signal_set& signals, int& number);

/** Acquires what @p how says. Whoever sits at a terminal and waits for more than a second is told for whom.

    One of @p signals that is to end us gives it up; the status is 128 and the signal then.
*/
asio::awaitable<acquired> acquire(lock_manager&, how_to_acquire const& how, settings const&, asio::signal_set& signals);

}  // namespace redlock::tools
