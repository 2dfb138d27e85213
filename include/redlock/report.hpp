#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/error.hpp>
#include <redlock/mode.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock {

/// What one node said to one request.
enum class vote : std::uint8_t {
    granted,  ///< Yes: the key is set, extended or deleted.
    denied,   ///< No: the key belongs to somebody else, or is not there.
    unknown,  ///< No answer, or an error. Unknown is not denied: whatever was perhaps written is released.
};

/// "granted", "denied" or "unknown".
REDLOCK_API char const* to_string(vote) noexcept;

/// One node's part in the last round of an operation.
struct node_report {
    std::string name{};                      ///< The node's address, without user and password.
    redlock::vote vote = vote::unknown;
    /// Why the vote is unknown. Unknown without an error: the round was decided before this node answered.
    error_code error{};
    std::string message{};                   ///< The server's own words for an error, without secrets.
    std::chrono::microseconds round_trip{0}; ///< From the start of the round to the answer. Zero: no answer.
};

/** How an acquisition went. Point `acquire_options::report` at one.

    It is written once, just before the operation completes, and must live until then.
*/
struct attempt_report {
    std::vector<node_report> nodes{};        ///< In the order of `config::nodes`. Empty when nothing was sent.
    error_code outcome{};                    ///< What the operation completed with.
    std::string message{};                   ///< For people: the outcome and its reason.
    std::size_t rounds = 0;                  ///< How often the nodes were asked for the lock.
    std::size_t second_rounds = 0;           ///< How often, after that, to raise their counters: too few took our fencing token.
    std::chrono::milliseconds quarantine{0}; ///< With `errc::quarantined`: until enough nodes vote again. Zero: others are away.
    /// With `errc::contended`, after a wait: when the lock runs out, or changes hands, if nobody extends it. Zero: not known.
    std::chrono::milliseconds remaining{0};
    std::chrono::microseconds elapsed{0};    ///< From the call to the outcome, waiting included.
};

/** When to try again after an attempt that has failed: for who does something else meanwhile. Who can wait, waits
    (`acquire_options::wait`): that is fair, and woken when the lock goes. docs/later.md has recipes for what comes back.

    What the nodes told: with @ref errc::contended `remaining`, with @ref errc::quarantined `quarantine`. Otherwise a pause: one second,
    doubled with each further attempt. Either is raised to a second, and cut to a minute, because locks are given back before they
    run out. Up to a quarter is added at random, so that those who failed together do not come back together.

    @return from 1 s to 75 s. Zero: the same call will never succeed (@ref errc::invalid_argument, @ref errc::unsupported); correct it.

    @throws std::exception the system has no random numbers

    @par Thread safety
    Safe. Forked processes draw different numbers, too.

    @param report any outcome. Of an acquisition that succeeded, or a report that was never filled, nothing is told: it is the pause, for
           work that failed later.
    @param attempt how many have failed by now, this one included, from 1; 0 counts as 1. From the seventh on the pause is a minute.
*/
REDLOCK_API std::chrono::milliseconds retry_after(attempt_report const& report, std::size_t attempt = 1);

/// What one node knows about a resource.
struct node_lock_info {
    std::string name{};                      ///< The node's address, without user and password.
    error_code error{};                      ///< Why nothing is known.
    bool locked = false;
    redlock::mode mode = mode::exclusive;    ///< See @ref lock_info::mode.
    std::string owner{};                     ///< See @ref lock_info::owner.
    std::chrono::milliseconds remaining{0};  ///< Time to live of the key. Negative: the key never expires.
};

/// Who holds a resource, as told by `lock_manager::async_inspect`. A snapshot: old the moment it is made.
struct lock_info {
    std::string resource{};
    bool locked = false;                     ///< A majority of the nodes names the same holder, or says that it is shared.
    redlock::mode mode = mode::exclusive;    ///< Whether it is shared: by one or by many, and nobody says by whom.
    /// The holder's `config::owner`; empty when the key was written by a client that leaves no label.
    std::string owner{};
    std::chrono::milliseconds remaining{0};  ///< For how long a majority will go on naming the holder.
    std::vector<node_lock_info> nodes{};     ///< In the order of `config::nodes`.
};

}  // namespace redlock
