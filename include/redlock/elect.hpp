#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/detail/body_run.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/lock_manager.hpp>
#include <redlock/options.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace redlock::inline v1 {

/// The result of the body of @ref elect.
enum class elected : std::uint8_t {
    done,  ///< The work is complete: `elect` returns.
    /// Another process may lead. This process releases the lock, and is a candidate again after
    /// `elect_options::pause_min`.
    step_down,
};

/// An event of a candidate in an election: for dashboards, alerts and logs.
struct election_event {
    /// Each kind of event.
    enum class kind : std::uint8_t {
        standing,  ///< The candidate asks for the lock, or waits for the leader.
        /// Nobody can be elected: too few nodes answer, vote, or answer in time. `error` and `message` tell which of
        /// these it is.
        waiting_for_nodes,
        /// The candidate leads: the body begins now. When it has ended, one of the later kinds follows.
        elected,
        stepped_down,  ///< The body returned `elected::step_down`. The lock was released.
        /// The lock was lost; `message` tells why. The result or exception of the body does not count. The process is
        /// a candidate again at once.
        lost,
        failed,  ///< The body threw `exception`. The lock was released.
        ended,   ///< The last event: `elect` returns, or throws an error with this `error` and `message`.
    };

    kind what{};         ///< The kind of event.
    std::string name{};  ///< The name of the election.
    /// The token of the term that this event is about. Zero: no term, or `manager_options::fencing` is off.
    std::uint64_t fencing_token = 0;
    /// The reason; set for `waiting_for_nodes`, `lost` and `ended`. If `ended` has none, the body returned
    /// `elected::done`.
    error_code error{};
    /// The exception of the body; null if there is none. Also null if the body ended with `operation_aborted` because
    /// it was cancelled.
    std::exception_ptr exception{};
    /// For people: what `error` means here, with the reason of each node that matters.
    std::string message{};
    /// For `stepped_down` and `failed`: how long the process is not a candidate.
    std::chrono::milliseconds pause{0};
};

/// The name of a kind: "standing", "waiting for nodes", "elected", "stepped down", "lost", "failed" or "ended".
REDLOCK_API char const* to_string(election_event::kind) noexcept;

/// A view of a function that gets the events of an election: see `elect_options::observe`.
class election_listener {
public:
    /// No function.
    election_listener() noexcept = default;

    /// Views @p f, which must live until `elect` was called.
    template <class F>
        requires std::is_invocable_v<F&, election_event> && (!std::is_same_v<std::remove_cv_t<F>, election_listener>)
    election_listener(F& f) noexcept
        : viewed_(std::addressof(f)), copy_([](void const* what) {
              return std::function<void(election_event)>(*static_cast<F*>(const_cast<void*>(what)));
          })
    {
    }

    /// A temporary function would be gone, and g++ 12 would destroy it twice: give it a name.
    template <class F>
        requires std::is_invocable_v<F&, election_event>
    election_listener(F const&&) = delete;

    /// A copy of the function. Empty: there is none.
    std::function<void(election_event)> copy() const { return copy_ ? copy_(viewed_) : nullptr; }

private:
    void const* viewed_ = nullptr;
    std::function<void(election_event)> (*copy_)(void const*) = nullptr;
};

/// How a candidate takes part in an election. An aggregate. `elect` checks it before it sends anything.
struct elect_options {
    /// The time to live (TTL) of the leader's lock: after the crash of a leader, nobody leads for up to this long. From
    /// 20 ms to `manager_options::max_ttl`, and longer than `manager_options::node_timeout`. While the leader works,
    /// the manager renews the lock.
    std::chrono::milliseconds ttl{10'000};

    /// How long to wait while another process leads: 0 to 100 years, or @ref wait_forever : until elected. When this
    /// time is over, `elect` throws `errc::contended`. Zero: it throws if another process leads now. Time without
    /// enough nodes does not count.
    std::chrono::milliseconds wait = wait_forever;

    /// The longest term, from the start of its acquisition: 20 ms to 100 years. Then it ends as if the lock were lost.
    /// Zero: no limit.
    std::chrono::milliseconds max_hold{0};

    /// The group in whose statistics the acquisitions count: see `acquire_options::group`. `elect` copies it.
    std::string_view group{};

    /// The purpose of the leadership, for people who look at the lock: see `acquire_options::note`. `elect` copies it.
    std::string_view note{};

    /// The pause after `elected::step_down`, and the unit of the pauses after a body that threw: 1 ms to `pause_max`.
    /// During the pause another process can take over. A pause after a body that threw is random: from 1 to 2 times
    /// this after the first failure, from 2 to 4 times after the second, and so on.
    std::chrono::milliseconds pause_min{1'000};

    /// The longest pause: 1 ms to a day.
    std::chrono::milliseconds pause_max{60'000};

    /// The shortest term that ends a row of failures. If a body ran for that long before it threw, its failure counts
    /// as the first one: 0 to 100 years. Zero: every failure counts as the first one.
    std::chrono::milliseconds stable{60'000};

    /** How long to keep the lock after `elected::done`, counted from the start of its acquisition: 0 to `ttl`.
        Zero: it is released at once.

        Use it for a job that every process starts at the same time of day, by clocks that do not agree. `elect` returns
        at once. The manager does not renew the key, and deletes it when this time is over. If the process or the
        manager ends earlier, the key stays until its ttl is over. Therefore the limit is the ttl.

        A process that fails, steps down or is cancelled has not done the work, and releases the lock at once. If nodes
        promise less than the ttl (`node_reply::good_for`), the lock is kept for that time only. */
    std::chrono::milliseconds at_least{0};

    /** Receives each event, on the strand on which the body runs. Default: no events. A function with a name, such as
        `{.observe = tell}`: `elect` copies it before it returns.

        Calls do not overlap each other or a step of the body, and none comes after `elect` has ended. It may call the
        manager, but must not block. Its exceptions are dropped. */
    election_listener observe{};
};

// As for acquire_options.
static_assert(std::is_trivially_destructible_v<elect_options>);

namespace detail {

using leader_body = std::function<asio::awaitable<elected>(lock&)>;
}

namespace locks {
REDLOCK_API asio::awaitable<void> stand_for(std::shared_ptr<manager_state>, std::string name, elect_options,
                                            detail::leader_body);
}

/** Leader election: runs @p body on one process at a time, among all that call this with the same name.

    `elect` acquires the lock @p name, and runs @p body under it as `lock_manager::with_lock` does. The body runs on a
    strand of the caller's executor. It is cancelled when the lock is lost, before the lock's validity is over. The next
    step depends on the body:

    - It returned `elected::done`: `elect` returns. The lock is released, or kept (`elect_options::at_least`).
    - It returned `elected::step_down`: the lock is released. The process is a candidate again after
      `elect_options::pause_min`.
    - It threw: the lock is released. The process is a candidate again after a pause that grows with each failure, so
      that others can take over.
    - It was cancelled because the lock is lost: the process is a candidate again at once. The body's result does not
      count.

    @p body is called again for each term, but never before its previous call has ended. If too few nodes answer or
    vote, `elect` does not end: it calls `elect_options::observe`, and waits.

    **While a process is paused, two bodies may run at once.** (A process can be stopped, swapped out, or in a paused
    virtual machine.) The old leader does not know yet that it has lost the lock. With `manager_options::fencing`, pass
    `lock::fencing_token()` along with every write of the leader, and let the resource refuse smaller tokens:
    docs/fencing.md.

    @par Completes
    when the body returned `elected::done` and its term has ended, or with an exception

    @return nothing; begins when it is awaited

    @throws lock_error with @ref errc::invalid_argument : the name or an option is out of range. Nothing was sent. The
    message names it.
    @throws lock_error with @ref errc::unsupported : a node cannot do what was asked for. Nothing was sent.
    @throws lock_error with @ref errc::contended : `wait` is limited, and another process led during all of it.
    @throws lock_error with `asio::error::operation_aborted` : the call was cancelled, or the manager was stopped. The
    message tells which.

    @par Cancellation
    The types that the caller's coroutine lets through (`asio::this_coro::reset_cancellation_state`; terminal by
    default):
    - While it waits for the lock: total and partial as in `lock_manager::async_acquire`; terminal aborts at once.
    - While the body runs: after total and partial, `elect` ends with this term. The body gets them, too, if its
      coroutine accepts these types. Terminal cancels the body.
    - During a pause after a term: all types abort at once.

    After a cancellation, `elect` ends when the body has ended. If the body returned `elected::done` nevertheless,
    `elect` ends without an error. The lock is released in the background.

    @par Lifetime
    @p name and @p options are moved into the operation, with copies of what the options name. @p body is moved or
    copied. If the manager is destroyed first, the operation ends.

    @par Thread safety
    That of @ref lock_manager : any thread may call it. The body and the observer run on one strand.

    @param locks The manager. All pauses are measured by its clock.
    @param name A name as for @ref lock_manager::async_acquire. `async_inspect` tells which process leads.
    @param options See @ref elect_options.
    @param body Called with `lock&`; returns `asio::awaitable<elected>`. It may extend the lock, but must not release or
    move it: that counts as a failure.
*/
template <class F>
asio::awaitable<void> elect(lock_manager& locks, std::string name, elect_options options, F&& body)
{
    using kept = std::decay_t<F>;
    static_assert(std::move_constructible<kept> && std::is_invocable_r_v<asio::awaitable<elected>, kept&, lock&>,
                  "the body takes lock& and returns an asio::awaitable<redlock::elected>");
    // Not itself a coroutine: a coroutine begins when it is awaited, and the manager may be gone by then.
    return locks::stand_for(detail::access::state_of(locks), std::move(name), std::move(options),
                            [body = std::make_shared<kept>(std::forward<F>(body))](lock& l) { return (*body)(l); });
}

#if REDLOCK_DESTROYS_CLOSURES_TWICE
template <class F>
    requires detail::destroyed_twice<F>
REDLOCK_NAME_THE_BODY asio::awaitable<void> elect(lock_manager& locks, std::string name, elect_options options,
                                                  F&& body)
{
    auto const named = [f = std::make_shared<F>(std::forward<F>(body))](lock& l) { return (*f)(l); };
    return elect(locks, std::move(name), std::move(options), named);
}
#endif

}  // namespace redlock
