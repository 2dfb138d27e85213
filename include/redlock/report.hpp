#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/error.hpp>
#include <redlock/quarantine_reason.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::inline v1 {

/// The answer of one node to one request.
enum class vote : std::uint8_t {
    granted,  ///< Yes: the key is set, extended or deleted.
    denied,   ///< No: the key has another holder, or does not exist.
    unknown,  ///< No answer, or an error; not a denial. The manager releases what the node may have set.
};

/// The name of a vote: "granted", "denied" or "unknown".
REDLOCK_API char const* to_string(vote) noexcept;

/// The part of one node in the last round of an operation.
struct node_report {
    std::string name{};                  ///< The node's address, without user and password.
    redlock::vote vote = vote::unknown;  ///< The node's answer.
    /// Why the vote is unknown; none for other votes. An unknown vote without an error: the round was decided before
    /// this node answered.
    error_code error{};
    /// The server's own words for an error, without secrets; may be empty. With @ref errc::quarantined : why the node
    /// does not vote yet, and for how long.
    std::string message{};
    std::chrono::microseconds round_trip{0};  ///< From the start of the round to the answer. Zero: no answer.
    /// Why the node does not vote yet, with @ref errc::quarantined . None: only the part with this key does not.
    std::optional<quarantine_reason> reason{};
};

/// The course of an acquisition, or of `lock_manager::async_found`: `lock::report` and `lock_error::report` return it.
struct attempt_report {
    std::vector<node_report> nodes{};  ///< Each node in the last round, in the order of `manager_options::nodes`.
                                       ///< Empty: no round.
    error_code outcome{};              ///< The error with which the operation completed. None: it succeeded.
    std::string message{};             ///< For people: the outcome and its reason.
    std::size_t rounds = 0;            ///< How many times the nodes were asked for the lock.
    /// How many times the nodes were asked to raise their counters, because too few accepted the proposed fencing
    /// token.
    std::size_t second_rounds = 0;
    /// The time until enough nodes vote again, with `errc::quarantined`. Zero: enough nodes vote, but too few of them
    /// answered.
    std::chrono::milliseconds quarantine{0};
    /// The time until the lock expires or changes hands if nobody extends it, with `errc::contended` after a wait.
    /// Zero: not known.
    std::chrono::milliseconds remaining{0};
    std::chrono::microseconds elapsed{0};  ///< From the call to the outcome, including the wait.
};

/** When to try again after a failed attempt, if the caller does something else meanwhile.

    If the caller can wait, use `acquire_options::wait`: that is fair, and reacts when the lock is released.
    docs/later.md has recipes for work that comes back later.

    The result starts from the report: `remaining` with @ref errc::contended, `quarantine` with @ref errc::quarantined.
    If those are zero, or for other errors, it starts from one second, doubled with each further attempt (exponential
    back-off). This is raised to at least a second and cut to at most a minute, because locks are often released before
    they expire. Up to a quarter is added at random (jitter), so that callers that failed together do not come back
    together.

    @return 1 s to 75 s. Zero: the same call will never succeed (@ref errc::invalid_argument, @ref errc::unsupported).
    Correct it.

    @throws std::exception if the system has no random numbers

    @par Thread safety
    May be called from any thread; does not wait. Forked processes draw different numbers, too.

    @param report Any report. After a success, or if it was never filled, the result is the pause of a failed attempt:
    use that for work that failed under the lock.
    @param attempt How many attempts have failed, including this one, from 1; 0 counts as 1. From the seventh on, the
    pause is a minute.
*/
REDLOCK_API std::chrono::milliseconds retry_after(attempt_report const& report, std::size_t attempt = 1);

}  // namespace redlock
