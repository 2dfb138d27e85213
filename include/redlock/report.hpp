#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/error.hpp>
#include <redlock/mode.hpp>
#include <redlock/quarantine_reason.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::inline v0 {

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
    std::vector<node_report> nodes{};  ///< Each node in the last round, in the order of `config::nodes`. Empty: no
                                       ///< round.
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

/// The knowledge of one node about a resource: a part of @ref lock_info.
struct node_lock_info {
    std::string name{};                      ///< The node's address, without user and password.
    error_code error{};                      ///< Why the node did not answer. None: it did.
    bool locked = false;                     ///< Whether the node has the key.
    redlock::mode mode = mode::exclusive;    ///< Exclusive or shared: see @ref lock_info::mode.
    std::string owner{};                     ///< The holder's label: see @ref lock_info::owner.
    std::chrono::milliseconds remaining{0};  ///< Time to live of the key. Negative: the key never expires.
    std::string note{};                      ///< The purpose of the hold: see @ref lock_info::note.
    /// The value of the key. Everybody who knows it can release the lock, so do not show it to everybody. A shared lock
    /// has the value `:=shared`.
    std::string value{};
    std::string message{};  ///< The server's own words for @ref error, without secrets; may be empty.
};

/// A client that shares a lock: a part of @ref lock_info.
struct reader_info {
    std::string owner{};                     ///< The client's label: see @ref lock_info::owner.
    std::string note{};                      ///< The purpose of the hold: see @ref lock_info::note.
    std::chrono::milliseconds remaining{0};  ///< How long it still shares the lock, unless it extends that time.
    std::size_t nodes = 0;                   ///< How many nodes list it.
    /// The start of the hold, by the client's own wall clock. None: unknown.
    std::optional<std::chrono::system_clock::time_point> since{};
    std::string value{};  ///< Its value: see `node_lock_info::value`.
};

/// A client that waits for a lock, or has lately stopped to: a part of @ref lock_info.
struct waiting_info {
    std::string owner{};  ///< The client's label, cut to 238 bytes. Empty: the client leaves none.
    std::string note{};   ///< The client's `acquire_options::note`. Empty: none, or no node has kept it.
    bool shares = false;  ///< Whether it wants to share the lock.
    std::string id{};     ///< Identifies the client: two managers never have the same.
};

/// The holder of a resource, from `lock_manager::async_inspect`. A snapshot, which may be outdated at once.
struct lock_info {
    std::string resource{};  ///< The name that was asked for.
    /// Whether a majority of the nodes names the same holder, or says that the lock is shared.
    bool locked = false;
    /// Exclusive or shared. @ref readers lists those that share the lock.
    redlock::mode mode = mode::exclusive;
    /// The label of the holder, its `config::owner`. Empty: the client that wrote the key leaves no label.
    std::string owner{};
    std::chrono::milliseconds remaining{0};  ///< How long a majority will continue to name the holder.
    std::vector<node_lock_info> nodes{};     ///< The answer of each node, in the order of `config::nodes`.
    /// The purpose of the hold: the holder's `acquire_options::note`. Empty: the holder leaves none.
    std::string note{};
    /// The start of the hold, by the holder's own wall clock, which may be wrong: for people only. None: unknown.
    std::optional<std::chrono::system_clock::time_point> since{};
    /// The clients that share the lock, at most 64. Empty also if no node lists them: see @ref knows_readers.
    std::vector<reader_info> readers{};
    /// The clients that some node has lately denied the lock, at most 64. A client that stopped to wait may be listed
    /// for a while. Empty also if no node lists them: see @ref knows_waiters.
    std::vector<waiting_info> waiters{};
    bool knows_readers = false;  ///< Whether some node lists the readers.
    bool knows_waiters = false;  ///< Whether some node lists waiting clients.
};

/// The result of `lock_manager::async_break` on one node: a part of @ref break_info.
struct node_break_info {
    std::string name{};    ///< The node's address, without user and password.
    bool deleted = false;  ///< Whether the node had a value that was seen, and has deleted it.
    /// Why the node did not answer. The manager asks it again in the background. None: it did.
    error_code error{};
    std::string message{};  ///< The server's own words for @ref error, without secrets; may be empty.
};

/// The result of `lock_manager::async_break`.
struct break_info {
    std::string resource{};                ///< The name of the lock.
    std::size_t deleted = 0;               ///< How many nodes have deleted a value.
    std::vector<node_break_info> nodes{};  ///< The result on each node, in the order of `config::nodes`.
};

/// The progress of a listing on one node: a part of @ref lock_page.
struct node_list_info {
    std::string name{};     ///< The node's address, without user and password.
    bool complete = true;   ///< Whether the node has listed its locks so far. If not, the listing goes on without it.
    error_code error{};     ///< Why it did not, if that happened on this page.
    std::string message{};  ///< The server's own words for @ref error, without secrets; may be empty.
};

/// Some of the locks, from `lock_manager::async_list`.
struct lock_page {
    std::vector<lock_info> locks{};  ///< In no order. It may be empty although more pages follow.
    /// The place where the next page begins, for `list_options::from`: printable text. Empty: this is the last page.
    std::string next{};
    std::vector<node_list_info> nodes{};  ///< The progress on each node, in the order of `config::nodes`.
};

}  // namespace redlock
