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
#include <type_traits>
#include <utility>

namespace redlock {

/// What the body of @ref elect returns.
enum class elected : std::uint8_t {
    done,       ///< There is nothing left to lead: `elect` returns.
    step_down,  ///< Somebody else may lead: the lock is given back, and `elect_options::pause_min` later this one stands again.
};

/// What has happened to one who stands in an election: for dashboards, alerts and logs.
struct election_event {
    enum class kind : std::uint8_t {
        standing,           ///< It asks for the lock, or waits for whoever has it.
        waiting_for_nodes,  ///< Nobody can be elected now: too few nodes answer, vote, or answer in time. `error` and `message` say which.
        elected,            ///< It leads: the body begins now. Exactly one of those below follows, when the body has ended.
        stepped_down,       ///< The body returned `elected::step_down`. The lock was given back.
        lost,               ///< The lock was lost; `message` says why. What the body returned, or threw, does not count. It stands again at once.
        failed,             ///< The body threw `exception`. The lock was given back.
        ended,              ///< The last event: `elect` returns, or throws what `error` and `message` say.
    };

    kind what{};
    std::string name{};                  ///< Of the election.
    std::uint64_t fencing_token = 0;     ///< Of whom it is told that it leads, or led until now. 0: `config::fencing` is off, or it did not.
    error_code error{};                  ///< Of `waiting_for_nodes`, `lost` and `ended`. `ended` without one: the body returned `elected::done`.
    std::exception_ptr exception{};      ///< What the body threw, unless that was a mere `operation_aborted` because it was cancelled.
    std::string message{};               ///< For people: what `error` means here, with the reason of each node that matters.
    std::chrono::milliseconds pause{0};  ///< Of `stepped_down` and `failed`: for how long it does not stand.
};

/// "standing", "waiting for nodes", "elected", "stepped down", "lost", "failed" or "ended".
REDLOCK_API char const* to_string(election_event::kind) noexcept;

/// How to stand in an election. An aggregate; checked before anything is sent.
struct elect_options {
    /** How the lock is acquired, each time. Whoever sets a part of it sets all of it: `{.ttl = 5s}` alone neither waits nor renews.

        - `ttl`: for so long nobody leads after a leader has died.
        - `wait`: for how long to wait for somebody else to end. @ref wait_forever: until elected. Otherwise `elect` throws
          `errc::contended` then; with 0, if somebody leads already. Time without enough nodes does not count.
        - `renew`: @ref renewal::none ends a term when its ttl is over, as a loss.
        - `max_hold`: the longest term. It, too, ends as a loss.
        - `report`: of the latest acquisition. It must live until `elect` has ended. */
    acquire_options lock{.ttl = std::chrono::milliseconds{10'000}, .wait = wait_forever, .renew = renewal::automatic};

    /// After a body that threw, it does not stand for a while, so that another process takes over: for a time that is drawn between
    /// half and all of twice this after the first failure, of four times this after the second, and so on. Never shorter than this.
    /// 1 ms to `pause_max`.
    std::chrono::milliseconds pause_min{1'000};

    /// Never longer than this: 1 ms to a day.
    std::chrono::milliseconds pause_max{60'000};

    /// A body that ran for so long before it threw has not failed again, but for the first time: 0 to 100 years. Zero: each time is the
    /// first.
    std::chrono::milliseconds stable{60'000};

    /** After `elected::done` the lock is kept until this long after its acquisition began, 0 to `lock.ttl`: for jobs that every process
        starts at the same time of day, by clocks that do not agree. `elect` returns at once; the manager deletes the key when the time
        has come, and does not renew it. If the process or the manager ends before, the key runs out by itself: therefore not longer than
        the ttl. Whoever fails, steps down or is cancelled has not done the work, and gives the lock back at once. On nodes that promise
        less than the ttl (`node_reply::good_for`) it is kept for what they promise. Zero: not kept. */
    std::chrono::milliseconds at_least{0};

    /** Told of each event, on the strand on which the body runs: one after the other, never beside a step of the body, never after
        `elect` has ended. It must not block. What it throws is dropped. Empty: nobody is told. */
    std::function<void(election_event)> observe{};
};

namespace detail {

using leader_body = std::function<asio::awaitable<elected>(lock&)>;

REDLOCK_API asio::awaitable<void> stand_for(std::shared_ptr<manager_state>, std::string name, elect_options, leader_body);

}  // namespace detail

/** Leader election: runs @p body on one process at a time, of all that call this with the same name.

    It acquires the lock @p name, and runs @p body under it as `lock_manager::with_lock` does: on a strand of the caller's executor,
    cancelled when the lock is lost, before its validity is over. Then, by how the body has ended:

    | the body                        | then                                                                                    |
    |---------------------------------|-----------------------------------------------------------------------------------------|
    | returned `elected::done`        | `elect` returns; the lock is given back, or kept (`elect_options::at_least`)            |
    | returned `elected::step_down`   | the lock is given back; it stands again after `elect_options::pause_min`                |
    | threw                           | the lock is given back; it stands again after a pause that grows, so that others take over |
    | was cancelled: the lock is lost | it stands again at once; whatever the body returned or threw                            |

    @p body is called again for each term, never before the one before has ended. That too few nodes answer, or vote, is no reason to
    end: it is told to `elect_options::observe`, and waited for.

    **Two bodies may run at once for as long as a process stands still** (stopped, swapped out, a paused virtual machine): the old leader
    does not know yet that it is not. With `config::fencing`, pass `lock::fencing_token()` along with all that the leader writes, and let
    the resource refuse smaller ones: docs/fencing.md.

    @par Throws
    A @ref lock_error with
    - @ref errc::invalid_argument : the name or an option is out of range; nothing was sent. The message names it.
    - @ref errc::unsupported : a node cannot do what is asked for.
    - @ref errc::contended : somebody else has led for all of `lock.wait`, which is not @ref wait_forever.
    - `asio::error::operation_aborted` : cancelled, or the manager was stopped; the message says which.

    @par Cancellation
    As far as the caller's coroutine lets it through (`asio::this_coro::reset_cancellation_state`; terminal by default):
    | progress           | total, partial                                                   | terminal              |
    |--------------------|------------------------------------------------------------------|-----------------------|
    | standing           | as `lock_manager::async_acquire`                                 | aborted at once       |
    | the body runs      | its last term; the body is told if its coroutine lets it through | the body is cancelled |
    | pause after a term | aborted at once                                                  | aborted at once       |

    `elect` ends when the body has ended: without an error if that returned `elected::done` all the same. The lock is given back in the
    background.

    @par Lifetime
    @p body is moved into the operation. The manager may be destroyed meanwhile, which ends it.

    @param locks the manager; all pauses go by its clock.
    @param name as a resource of @ref lock_manager::async_acquire; `async_inspect` tells who leads.
    @param options See @ref elect_options.
    @param body called with `lock&`, returns `asio::awaitable<elected>`. It may extend the lock, but neither releases it nor moves it
    away: that counts as a failure.
*/
template <class F>
asio::awaitable<void> elect(lock_manager& locks, std::string name, elect_options options, F body)
{
    static_assert(std::move_constructible<F> && std::is_invocable_r_v<asio::awaitable<elected>, F&, lock&>,
                  "the body takes lock& and returns an asio::awaitable<redlock::elected>");
    // No coroutine itself: one begins when it is awaited, and the manager may be gone by then.
    return detail::stand_for(detail::access::state_of(locks), std::move(name), std::move(options),
                             [body = std::make_shared<F>(std::move(body))](lock& l) { return (*body)(l); });
}

}  // namespace redlock
