#pragma once

#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/locks/lock_source.hpp"
#include "tools/redlock/locks/quorum_watch.hpp"

#include <redlock/options.hpp>

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

/// The options of a command that acquires locks.
struct how_to_acquire {
    std::vector<std::string> keys{};
    std::chrono::milliseconds ttl{10'000};
    std::chrono::milliseconds wait{0};
    std::chrono::milliseconds max_hold{0};
    bool at_once = false;
    bool is_limited = false;  ///< whether @ref wait limits the time
    bool shared = false;
    bool passes_writers = false;
    bool fencing = false;
    std::string note{};  ///< `acquire_options::note`
    renewal renew = renewal::automatic;
    std::shared_ptr<quorum_watch> watch = std::make_shared<quorum_watch>();

    void add_to(command_line&);
    void add_to(manager_options&) const;  ///< call it before the manager is created

    /// @throws early_exit if the library would refuse the note, or if options contradict each other
    void check(command_line const&, manager_options const&) const;
    acquire_options options() const;  ///< they name @ref note
};

/// Waits for the next of @p signals that ends a program: SIGHUP, SIGINT, SIGQUIT or SIGTERM. Ignores the others.
/// @param number  0 until such a signal arrives, and then its number
asio::awaitable<void> wait_for_end(asio::signal_set& signals, int& number);

/// Prints @p why to standard error, unless `settings::quiet`. @return @p status
int refuse(int status, std::string const& why, settings const&);

/// When the lock expires without a renewal, in milliseconds since 1970.
std::int64_t deadline_of(held_locks const&);

/// The names of locks as a JSON array.
boost::json::array json_of(std::span<std::string const> keys);

/** Acquires the locks of @p how. Unless `settings::quiet`, prints to standard error what it waits for.

    On a terminal, if the wait takes more than a second, it prints the holder, and again every ten seconds. If too few
    nodes vote for longer than `manager_options::connect_timeout`, it prints the missing nodes.

    If waiting cannot bring a majority, the wait ends immediately: see @ref lasting_status_of. If one of @p signals ends
    the wait, the status is 128 + the signal.

    @param command  for the messages, such as "run"
*/
asio::awaitable<acquired> acquire(lock_source&, how_to_acquire const& how, settings const&, asio::signal_set& signals,
                                  std::string_view command);

}  // namespace redlock::cli
