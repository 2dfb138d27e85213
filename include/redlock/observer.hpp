#pragma once

#include <redlock/clock.hpp>
#include <redlock/detail/api.hpp>
#include <redlock/error.hpp>
#include <redlock/mode.hpp>
#include <redlock/report.hpp>
#include <redlock/resource_set.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace redlock {

/** What happens in a @ref lock_manager, as an @ref observer is told of it.

    What an event refers to, names, texts and reports, is there until the call has returned. Durations are zero or more. Nothing of it is
    secret but what your names of resources are: no passwords, and no lock's token.
*/
namespace events {

/// An acquisition has begun: a call whose arguments are in order. It ends with @ref acquired or @ref not_acquired, unless the execution
/// context goes first.
struct acquisition_begun {
    clock::time_point when;           ///< of the call
    std::uint64_t acquisition;        ///< Its number in this manager, from 1 on.
    resource_set const& resources;    ///< What it wants …
    bool any;                         ///< … all of it, or any one.
    bool resumes;                     ///< It goes on with what another process has acquired: `lock_manager::async_resume`.
    redlock::mode mode;
    std::chrono::milliseconds ttl;
    std::chrono::milliseconds wait;   ///< See `acquire_options::wait`.
    std::size_t ahead;                ///< How many of this manager come before it, in the longest of the queues in which it waits.
};

/// The nodes were asked, and what they have said decides it, or `config::node_timeout` is over. What comes later is told to nobody.
struct round_decided {
    clock::time_point when;
    std::uint64_t acquisition;
    resource_set const& resources;          ///< as of @ref acquisition_begun
    std::size_t round;                      ///< From 1 on.
    bool draws_token;                       ///< It is the second part of that round: too few nodes took the fencing token proposed.
    error_code outcome;                     ///< None: it is won. Otherwise as of @ref not_acquired; then it may be tried again.
    std::chrono::nanoseconds took;          ///< From before the first byte left.
    std::span<node_report const> nodes;     ///< In the order of `config::nodes`.
};

/// An acquisition has got its lock.
struct acquired {
    clock::time_point when;
    std::uint64_t acquisition;
    std::uint64_t lock;               ///< What it has now: a lock has the number of the acquisition that won it on the nodes.
    bool joined;                      ///< It is one that the manager shared already; no node was asked, and @ref lock is another number.
    resource_set const& resources;    ///< What it has got; of any the one.
    redlock::mode mode;               ///< As asked of the nodes: exclusive, or shared.
    std::chrono::nanoseconds waited;  ///< From the call to the round that was won.
    std::chrono::nanoseconds took;    ///< From the call to now.
    std::size_t rounds;               ///< How often the nodes were asked.
    std::size_t ahead;                ///< as of @ref acquisition_begun
    std::chrono::nanoseconds validity;  ///< For how long it is valid from now on, if it is not extended.
};

/// An acquisition has ended without a lock.
struct not_acquired {
    clock::time_point when;
    std::uint64_t acquisition;
    resource_set const& resources;    ///< as of @ref acquisition_begun
    error_code reason;                ///< What the call completes with: see `lock_manager::async_acquire`.
    std::chrono::nanoseconds took;    ///< From the call to now.
    std::size_t rounds;
    std::size_t ahead;                ///< as of @ref acquisition_begun
};

/// A lock is valid for longer.
struct extended {
    clock::time_point when;
    std::uint64_t lock;
    resource_set const& resources;
    bool automatic;                     ///< A renewal; otherwise by `lock::async_extend`.
    std::chrono::nanoseconds validity;  ///< For how long from now on, if it is not extended again.
};

/// A lock that is held could not be extended. A renewal is tried again.
struct extension_failed {
    clock::time_point when;
    std::uint64_t lock;
    resource_set const& resources;
    bool automatic;                     ///< as of @ref extended
    error_code reason;                  ///< As of `lock::async_extend`.
    std::string_view why;               ///< For people: whose votes are missing. Empty: @ref reason says it.
    std::chrono::nanoseconds validity;  ///< For how long it is valid still.
};

/// Renewals fail, of this lock first: there was none that had failed and was not well again.
struct renewals_failing {
    clock::time_point when;
    std::uint64_t lock;
    resource_set const& resources;
    std::string_view why;               ///< as of @ref extension_failed
};

/// Renewals are well again, of all locks, and for a second at the least since the first failed.
struct renewals_well {
    clock::time_point when;
    std::chrono::nanoseconds after;     ///< since @ref renewals_failing
    std::uint64_t failures;             ///< How many have failed meanwhile …
    std::uint64_t lost;                 ///< … and how many locks were lost.
};

/// A lock was held and could not be kept. That is its end, whoever gives it back later.
struct lost {
    clock::time_point when;
    std::uint64_t lock;
    resource_set const& resources;
    std::string_view why;               ///< For people.
    std::chrono::nanoseconds held_for;  ///< since @ref acquired
};

/// A lock was given back by the last that had it, or its handle was forgotten and it ran out. That is its end here: its keys are deleted
/// from now on.
struct released {
    clock::time_point when;
    std::uint64_t lock;
    resource_set const& resources;
    std::chrono::nanoseconds held_for;  ///< since @ref acquired
    std::chrono::nanoseconds validity;  ///< For how long it would have been valid still. Zero: the work has taken too long.
};

/// A lock's keys were left to another process: `lock::detach`. That is its end here.
struct detached {
    clock::time_point when;
    std::uint64_t lock;
    resource_set const& resources;
    std::chrono::nanoseconds held_for;  ///< since @ref acquired
    std::chrono::nanoseconds validity;  ///< For how long it is valid still.
};

/// A lock that has just ended goes to somebody who waits for it in the same manager; other processes are told that they come later.
struct handed_over {
    clock::time_point when;
    std::uint64_t lock;                 ///< the one that has ended
    std::string_view resource;          ///< which of its resources
};

/// A node votes: there is a new connection to it, or it has voted again after it could not.
struct node_up {
    clock::time_point when;
    std::string_view node;              ///< Its address, without user and password.
};

/// There is no connection to a node: so was a request answered, in that way for the first time since @ref node_up.
struct node_down {
    clock::time_point when;
    std::string_view node;
    error_code error;                   ///< `errc::connection_lost`, `errc::node_unreachable`, …
    std::string_view message;           ///< Its own words, without secrets; may be empty.
};

/// A node refuses what it is asked for; likewise.
struct node_refused {
    clock::time_point when;
    std::string_view node;
    error_code error;                   ///< See @ref errc, from `authentication_failed` on.
    std::string_view message;           ///< Its own words, without secrets; may be empty.
};

/// A node has restarted and may have forgotten locks, so its votes do not count; ends with @ref node_trusted.
struct node_quarantined {
    clock::time_point when;
    std::string_view node;
    std::chrono::nanoseconds remaining;  ///< For how long, if it does not restart again.
};

/// The votes of a node that was quarantined count again.
struct node_trusted {
    clock::time_point when;
    std::string_view node;
};

/// A node has not confirmed that keys are gone, or something may set them again that was sent before; they are released once more, later.
struct clean_up_behind {
    clock::time_point when;
    std::string_view node;
    error_code error;                   ///< Why it did not; none: it did.
    std::size_t pending;                ///< On all nodes together: `stats::cleaning`.
};

/// The release of keys was given up: they expire by themselves.
struct keys_left {
    clock::time_point when;
    std::size_t keys;                   ///< How many, counting on each node those of one lock as one.
};

}  // namespace events

/** Is told of what happens in a @ref lock_manager: derive from it, override what you want to hear of, and set `config::observer`.

    For metrics, traces and logs of your own; decisions are better based on what calls complete with. Each thing is told once, in the order
    in which it happened, and in the order of log lines; of one lock: @ref acquisition_begun, each @ref round_decided, @ref acquired, any
    number of @ref extended and @ref extension_failed, and one of @ref released, @ref detached and @ref lost. So at any moment as many
    acquisitions have begun as have ended and are under way, and as many locks were acquired, joined ones apart, as have ended and are held.

    @par Calls
    On the manager's own strand, in a pass of the event loop of their own: soon after the thing, `when` it happened, and never from within a
    call or a step of the manager. So an observer may call the manager, destroy it, and take a mutex that a caller of the library holds.
    From `lock_manager`'s constructor until its shutdown has completed, which a destroyed manager does in the background; not any more
    when its execution context is destroyed.

    @par Slow ones
    Renewals wait until an observer has returned, as everything of the manager does; what happens meanwhile is told later, and takes memory
    until then. So it must not block.

    @par Exceptions
    What a function throws is swallowed, and the next thing is told all the same. When memory is short an event may be left out.

    @par Thread safety
    A manager calls one function at a time. An observer that several managers share is called by all of them at once, if these have
    several threads.
*/
class REDLOCK_API observer {
public:
    virtual ~observer() = default;

    virtual void acquisition_begun(events::acquisition_begun const&) {}
    virtual void round_decided(events::round_decided const&) {}
    virtual void acquired(events::acquired const&) {}
    virtual void not_acquired(events::not_acquired const&) {}
    virtual void extended(events::extended const&) {}
    virtual void extension_failed(events::extension_failed const&) {}
    virtual void renewals_failing(events::renewals_failing const&) {}
    virtual void renewals_well(events::renewals_well const&) {}
    virtual void lost(events::lost const&) {}
    virtual void released(events::released const&) {}
    virtual void detached(events::detached const&) {}
    virtual void handed_over(events::handed_over const&) {}
    virtual void node_up(events::node_up const&) {}
    virtual void node_down(events::node_down const&) {}
    virtual void node_refused(events::node_refused const&) {}
    virtual void node_quarantined(events::node_quarantined const&) {}
    virtual void node_trusted(events::node_trusted const&) {}
    virtual void clean_up_behind(events::clean_up_behind const&) {}
    virtual void keys_left(events::keys_left const&) {}
};

}  // namespace redlock
