#pragma once

#include <redlock/clock.hpp>
#include <redlock/detail/api.hpp>
#include <redlock/error.hpp>
#include <redlock/log.hpp>
#include <redlock/mode.hpp>
#include <redlock/quarantine_reason.hpp>
#include <redlock/report.hpp>
#include <redlock/resource_set.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace redlock::inline v1 {

/// Why a lock was lost.
enum class loss : std::uint8_t {
    expired,   ///< It was not extended in time: no renewal, or too few nodes answered.
    refused,   ///< A majority of the nodes no longer has it: it was deleted, or they forgot it.
    max_hold,  ///< `acquire_options::max_hold` is over.
};

/// The name of a reason: "expired", "refused" or "max_hold".
REDLOCK_API char const* to_string(loss) noexcept;

/** The events of a @ref lock_manager , which an @ref observer receives.

    References in an event (names, texts, reports) are valid until the call returns. Durations are zero or more. Events
    contain no passwords and no lock tokens, but they contain the names of resources.
*/
namespace events {

/// An acquisition has begun, with arguments in range. It ends with @ref acquired or @ref not_acquired, unless the
/// execution context is destroyed before.
struct acquisition_begun {
    clock::time_point when;          ///< The time of the call.
    std::uint64_t acquisition;       ///< Its number in this manager, from 1.
    resource_set const& resources;   ///< The names that it wants.
    bool any;                        ///< True: any one of the names is enough. False: it wants all.
    bool resumes;                    ///< True: it resumes another process's lock (`lock_manager::async_resume`).
    redlock::mode mode;              ///< The mode that it wants: `acquire_options::mode`.
    std::chrono::milliseconds ttl;   ///< The time to live that it wants: `acquire_options::ttl`.
    std::chrono::milliseconds wait;  ///< How long it may take: `acquire_options::wait`.
    /// How many acquisitions of this manager wait before this one; of several names, the largest number.
    std::size_t ahead;
    std::shared_ptr<void const> context;  ///< The caller's context: `acquire_options::context`; may be null.
    std::string_view owner;               ///< The label of this client: `manager_options::owner`.
};

/// A round of an acquisition is decided, or `manager_options::node_timeout` is over. Later answers have no event.
struct round_decided {
    clock::time_point when;         ///< The time of the event.
    std::uint64_t acquisition;      ///< The number of the acquisition.
    resource_set const& resources;  ///< See @ref acquisition_begun.
    std::size_t round;              ///< The number of the round in this acquisition, from 1.
    /// True: a second request of the round, because too few nodes took the proposed fencing token.
    bool draws_token;
    error_code outcome;                  ///< Why it was lost; another round may follow. None: it was won.
    std::chrono::nanoseconds took;       ///< The time since before the first byte left.
    std::span<node_report const> nodes;  ///< The answers of the nodes, in the order of `manager_options::nodes`.
};

/// An acquisition has won its lock.
struct acquired {
    clock::time_point when;     ///< The time of the event.
    std::uint64_t acquisition;  ///< The number of the acquisition.
    std::uint64_t lock;         ///< The lock's number: that of the acquisition that won it on the nodes.
    /// True: the acquisition joined a lock that the manager already shares. No node was asked, and @ref lock
    /// differs from @ref acquisition.
    bool joined;
    resource_set const& resources;      ///< The names that are locked. If any one was wanted: its name.
    redlock::mode mode;                 ///< The mode of the lock: `lock::mode`.
    std::chrono::nanoseconds waited;    ///< The time from the call to the round that was won.
    std::chrono::nanoseconds took;      ///< The time from the call to the event.
    std::size_t rounds;                 ///< How many times the nodes were asked.
    std::size_t ahead;                  ///< See @ref acquisition_begun.
    std::chrono::nanoseconds validity;  ///< How long the lock is valid from now on, if it is not extended.
    std::string_view owner;             ///< The label of this client: `manager_options::owner`.
};

/// An acquisition has ended without a lock.
struct not_acquired {
    clock::time_point when;         ///< The time of the event.
    std::uint64_t acquisition;      ///< The number of the acquisition.
    resource_set const& resources;  ///< See @ref acquisition_begun.
    error_code reason;              ///< The error of the call: see `lock_manager::async_acquire`.
    std::chrono::nanoseconds took;  ///< The time from the call to the event.
    std::size_t rounds;             ///< How many times the nodes were asked.
    std::size_t ahead;              ///< See @ref acquisition_begun.
    std::string_view owner;         ///< The label of this client: `manager_options::owner`.
};

/// A lock was extended.
struct extended {
    clock::time_point when;             ///< The time of the event.
    std::uint64_t lock;                 ///< The number of the lock.
    resource_set const& resources;      ///< The names of the lock.
    bool automatic;                     ///< Whether a renewal did it; otherwise `lock::async_extend`.
    std::chrono::nanoseconds validity;  ///< How long it is valid from now on, if it is not extended again.
    /// How much validity was left. If it is often short, the renewals come late: a slow node, or a blocked thread.
    std::chrono::nanoseconds slack;
};

/// A held lock could not be extended. The manager tries a renewal again.
struct extension_failed {
    clock::time_point when;             ///< The time of the event.
    std::uint64_t lock;                 ///< The number of the lock.
    resource_set const& resources;      ///< The names of the lock.
    bool automatic;                     ///< Whether a renewal did it; otherwise `lock::async_extend`.
    error_code reason;                  ///< The error, as of `lock::async_extend`.
    std::string_view why;               ///< For people: whose votes are missing. Empty: @ref reason says it.
    std::chrono::nanoseconds validity;  ///< How long it is still valid.
};

/// Renewals begin to fail: this lock's is the first. Comes once until @ref renewals_well.
struct renewals_failing {
    clock::time_point when;         ///< The time of the event.
    std::uint64_t lock;             ///< The number of the lock.
    resource_set const& resources;  ///< The names of the lock.
    std::string_view why;           ///< For people: whose votes are missing.
};

/// Renewals of all locks succeed again, at least a second after @ref renewals_failing.
struct renewals_well {
    clock::time_point when;          ///< The time of the event.
    std::chrono::nanoseconds after;  ///< The time since @ref renewals_failing.
    std::uint64_t failures;          ///< How many renewals failed meanwhile.
    std::uint64_t lost;              ///< How many locks were lost meanwhile.
};

/// A held lock could not be kept. This is its last event, also if a handle is released later.
struct lost {
    clock::time_point when;             ///< The time of the event.
    std::uint64_t lock;                 ///< The number of the lock.
    resource_set const& resources;      ///< The names of the lock.
    std::string_view why;               ///< The reason in words, for people.
    std::chrono::nanoseconds held_for;  ///< The time since @ref acquired.
    loss reason;                        ///< The kind of reason.
    std::string_view owner;             ///< The label of this client: `manager_options::owner`.
};

/// A lock has ended without a loss: its last handle released it, or it expired after its last handle had ended. This is
/// its last event. Its keys are deleted from now on.
struct released {
    clock::time_point when;             ///< The time of the event.
    std::uint64_t lock;                 ///< The number of the lock.
    resource_set const& resources;      ///< The names of the lock.
    std::chrono::nanoseconds held_for;  ///< The time since @ref acquired.
    std::chrono::nanoseconds validity;  ///< How long it would still have been valid. Zero: the work took too long.
    std::string_view owner;             ///< The label of this client: `manager_options::owner`.
};

/// A lock was detached: its keys are left to another process (`lock::detach`). This is its last event here.
struct detached {
    clock::time_point when;             ///< The time of the event.
    std::uint64_t lock;                 ///< The number of the lock.
    resource_set const& resources;      ///< The names of the lock.
    std::chrono::nanoseconds held_for;  ///< The time since @ref acquired.
    std::chrono::nanoseconds validity;  ///< How long it is still valid.
    std::string_view owner;             ///< The label of this client: `manager_options::owner`.
};

/// A lock that has just ended goes to a waiter of the same manager. Waiters of other processes come later.
struct handed_over {
    clock::time_point when;     ///< The time of the event.
    std::uint64_t lock;         ///< The lock that has ended.
    std::string_view resource;  ///< One of its resources.
};

/// A node votes: it has a new connection, or it has voted again after trouble.
struct node_up {
    clock::time_point when;  ///< The time of the event.
    std::string_view node;   ///< Its address, without user and password.
};

/// There is no connection to a node, as the answer to a request tells. Comes again only with another error, or after
/// @ref node_up.
struct node_down {
    clock::time_point when;    ///< The time of the event.
    std::string_view node;     ///< Its address, without user and password.
    error_code error;          ///< Such as `errc::connection_lost` or `errc::node_unreachable`.
    std::string_view message;  ///< The server's own words, without secrets; may be empty.
};

/// A node refuses requests. Comes again only with another error, or after @ref node_up.
struct node_refused {
    clock::time_point when;    ///< The time of the event.
    std::string_view node;     ///< Its address, without user and password.
    error_code error;          ///< See @ref errc, from `authentication_failed` on.
    std::string_view message;  ///< The server's own words, without secrets; may be empty.
};

/// The votes of a node do not count until @ref node_trusted (quarantine): it is new, or may have forgotten locks.
struct node_quarantined {
    clock::time_point when;              ///< The time of the event.
    std::string_view node;               ///< Its address, without user and password.
    std::chrono::nanoseconds remaining;  ///< How long the quarantine lasts, if it does not restart again.
    quarantine_reason reason;            ///< Why its votes do not count.
};

/// The quarantine of a node is over: its votes count again.
struct node_trusted {
    clock::time_point when;  ///< The time of the event.
    std::string_view node;   ///< Its address, without user and password.
};

/// A node has not confirmed that keys are deleted, or an earlier request may set them again. The manager releases them
/// again later.
struct clean_up_behind {
    clock::time_point when;  ///< The time of the event.
    std::string_view node;   ///< Its address, without user and password.
    error_code error;        ///< Why it has not confirmed. None: it has.
    std::size_t pending;     ///< Such keys on all nodes together: `stats::cleaning`.
};

/// The manager has given up the release of keys. They expire by themselves.
struct keys_left {
    clock::time_point when;  ///< The time of the event.
    std::size_t keys;        ///< How many keys; those of one lock on one node count as one.
};

/// A line of the log that no other event contains: what `manager_options::log` receives besides the lines about events.
struct log_line {
    clock::time_point when;  ///< The time of the event.
    log_level level;         ///< The severity of the line.
    std::string_view text;   ///< The line; it has no passwords and no lock tokens.
};

}  // namespace events

/** Receives the events of a @ref lock_manager : derive from it, override the functions that you need, and set
    `manager_options::observer`.

    Use it for metrics, traces and logs. For decisions, use the results of the calls.

    Each event is sent once, in the order of time and of log lines. The order for one lock is @ref acquisition_begun,
    each @ref round_decided, @ref acquired, any number of @ref extended and @ref extension_failed, and one of
    @ref released, @ref detached and @ref lost. So acquisitions begun are always acquisitions ended plus those under
    way. Locks acquired (joined ones not counted) are always locks ended plus those held. Every function does nothing
    unless you override it.

    @par Calls
    The manager calls the observer on its own strand, soon after the event, whose time is `when`. Each call is in a pass
    of the event loop of its own, never within a call or a step of the manager. So an observer may call the manager,
    destroy it, or take a mutex that a caller of the library holds.

    @par Lifetime
    Calls begin in `lock_manager`'s constructor, and end when its shutdown has completed. (A destroyed manager shuts
    down in the background.) They also end when the execution context is destroyed.

    @par Blocking
    An observer must not block: until it returns, all work of the manager waits, renewals included. Later events are
    kept in memory until then.

    @par Exceptions
    The first exception of an observer is logged, and the others are dropped. The next event is sent nevertheless. If
    memory is short, an event may be left out.

    @par Thread safety
    A manager calls one function at a time. If several managers share an observer and have several threads, they call it
    at the same time.
*/
class REDLOCK_API observer {
public:
    virtual ~observer() = default;

    virtual void acquisition_begun(events::acquisition_begun const&) {}  ///< An acquisition has begun.
    virtual void round_decided(events::round_decided const&) {}          ///< A round of an acquisition is decided.
    virtual void acquired(events::acquired const&) {}                    ///< An acquisition has won its lock.
    virtual void not_acquired(events::not_acquired const&) {}            ///< An acquisition has ended without a lock.
    virtual void extended(events::extended const&) {}                    ///< A lock was extended.
    virtual void extension_failed(events::extension_failed const&) {}    ///< A held lock could not be extended.
    virtual void renewals_failing(events::renewals_failing const&) {}    ///< Renewals begin to fail.
    virtual void renewals_well(events::renewals_well const&) {}          ///< Renewals succeed again.
    virtual void lost(events::lost const&) {}                            ///< A held lock could not be kept.
    virtual void released(events::released const&) {}                    ///< A lock has ended without a loss.
    virtual void detached(events::detached const&) {}                    ///< A lock was left to another process.
    virtual void handed_over(events::handed_over const&) {}            ///< A lock goes to a waiter of the same manager.
    virtual void node_up(events::node_up const&) {}                    ///< A node votes.
    virtual void node_down(events::node_down const&) {}                ///< There is no connection to a node.
    virtual void node_refused(events::node_refused const&) {}          ///< A node refuses requests.
    virtual void node_quarantined(events::node_quarantined const&) {}  ///< The votes of a node do not count.
    virtual void node_trusted(events::node_trusted const&) {}          ///< The votes of a node count again.
    virtual void clean_up_behind(events::clean_up_behind const&) {}    ///< A node has not confirmed that keys are
                                                                       ///< deleted.
    virtual void keys_left(events::keys_left const&) {}  ///< The manager has given up the release of keys.
    virtual void log_line(events::log_line const&) {}    ///< A line of the log that no other event contains.
};

/// Makes an observer that sends each event to all of @p all, in their order: `observers({log_json(print), traces})`. If
/// one throws, the others receive the event nevertheless. Null pointers are skipped.
REDLOCK_API std::shared_ptr<observer> observers(std::vector<std::shared_ptr<observer>> all);

}  // namespace redlock
