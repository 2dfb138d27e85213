#pragma once

#include "cli/command_line.hpp"
#include "cli/quorum_watch.hpp"

#include <redlock/lock_manager.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/json/array.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// How a command acquires its locks: its options for that.
struct how_to_acquire {
    std::vector<std::string> keys{};
    std::chrono::milliseconds ttl{10'000};
    std::chrono::milliseconds wait{0};
    std::chrono::milliseconds max_hold{0};
    bool at_once = false;
    bool is_limited = false;  ///< by @ref wait
    bool shared = false;
    bool passes_writers = false;
    bool fencing = false;
    renewal renew = renewal::automatic;
    std::shared_ptr<quorum_watch> watch = std::make_shared<quorum_watch>();

    void add_to(command_line&);
    void add_to(config&) const;  ///< before the manager is made
    acquire_options options(attempt_report&) const;
};

/// How an acquisition has ended.
struct acquired {
    lock held{};  ///< empty: it failed
    int status = 0;
    std::string message{};  ///< for people, if it failed: one line that begins with "redlock"
    std::chrono::milliseconds waited{0};
};

/// The next of @p signals that ends a program: SIGHUP, SIGINT, SIGQUIT or SIGTERM. Others are ignored.
/// @p number is 0 until then.
asio::awaitable<void> wait_for_end(asio::signal_set& signals, int& number);

/// Tells people @p why, unless the settings say quiet. @return @p status
int refuse(int status, std::string const& why, settings const&);

/// When the lock ends if nobody renews it, in milliseconds since 1970.
std::int64_t deadline_of(lock const&);

/// Names of locks as JSON.
boost::json::array json_of(std::span<std::string const> keys);

/** Acquires what @p how says, and tells people what it waits for, unless the settings say quiet.

    On a terminal a wait of more than a second names the holder, every ten seconds. If too few nodes vote for longer
    than `config::connect_timeout`, a line names the missing nodes.

    If time does not bring a majority, the wait ends at once: see @ref lasting_status_of. If one of @p signals ends the
    wait, the status is 128 and the signal.

    @param command  for the messages, such as "run"
*/
asio::awaitable<acquired> acquire(lock_manager&, how_to_acquire const& how, settings const&, asio::signal_set& signals,
                                  std::string_view command);

}  // namespace redlock::cli
