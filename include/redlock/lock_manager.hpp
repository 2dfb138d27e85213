#pragma once

#include <redlock/config.hpp>
#include <redlock/detail/api.hpp>
#include <redlock/detail/body_run.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/detail/selection.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/lock_error.hpp>
#include <redlock/lock_ticket.hpp>
#include <redlock/node.hpp>
#include <redlock/options.hpp>
#include <redlock/report.hpp>
#include <redlock/resource_set.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/default_completion_token.hpp>
#include <boost/asio/execution_context.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace redlock {

namespace detail {

using inspect_handler = completion<void(error_code, lock_info)>;

REDLOCK_API std::shared_ptr<manager_state> make_manager_state(asio::any_io_executor, config);
REDLOCK_API std::shared_ptr<manager_state> make_manager_state(asio::any_io_executor, config, std::vector<std::shared_ptr<node>>);
REDLOCK_API void shut_down_in_background(std::shared_ptr<manager_state>) noexcept;
REDLOCK_API stats stats_of(manager_state const&);
REDLOCK_API void start_inspect(std::shared_ptr<manager_state>, std::string resource, inspect_handler);
REDLOCK_API void start_resume(std::shared_ptr<manager_state>, lock_ticket, acquire_options, acquire_handler, bool explains);
REDLOCK_API void start_release_by_ticket(std::shared_ptr<manager_state>, lock_ticket, error_handler);
REDLOCK_API void start_shutdown(std::shared_ptr<manager_state>, error_handler);

}  // namespace detail

/** Acquires locks on a majority of lock servers.

    Make one per process and set of servers and share it. It connects on first use. Open connections are
    outstanding work: `io_context::run` returns after `async_shutdown`, or after the manager was destroyed.

    Everything it does by itself, such as renewal and clean-up, runs on a strand of its executor. Handlers
    are posted to their associated executor, by default the manager's. A handler that blocks every thread
    of that executor also blocks renewal: give the manager an executor of its own if handlers may block.

    Destroying the manager stops it in the background, as @ref async_shutdown does: nobody else has a lock before its holder has let
    go of it.

    @tparam Executor what the user's coroutines and I/O objects run on; it says what the default completion token is.
    `lock_manager`, on the type-erased executor, is what everybody else needs.

    @par Thread safety
    Safe on distinct and on shared objects, except for moving.
*/
template <class Executor>
class basic_lock_manager {
public:
    using executor_type = Executor;
    using lock_type = basic_lock<Executor>;
    using default_completion_token = asio::default_completion_token_t<Executor>;

    /// The same with another executor: `asio::use_awaitable.as_default_on(lock_manager(…))`.
    template <class Other>
    struct rebind_executor {
        using other = basic_lock_manager<Other>;
    };

    /// @throws std::invalid_argument naming the field, the value and the limit, if @p settings is broken.
    basic_lock_manager(Executor const& executor, config settings) : state_(detail::make_manager_state(executor, std::move(settings))) {}

    /// Locks on @p nodes, too, each with one vote beside those of `config::nodes`.
    basic_lock_manager(Executor const& executor, config settings, std::vector<std::shared_ptr<node>> nodes)
        : state_(detail::make_manager_state(executor, std::move(settings), std::move(nodes)))
    {
    }

    /// For an `io_context` or a `thread_pool`.
    template <class ExecutionContext>
        requires std::is_convertible_v<ExecutionContext&, asio::execution_context&>
    basic_lock_manager(ExecutionContext& context, config settings)
        : basic_lock_manager(Executor(context.get_executor()), std::move(settings))
    {
    }

    /// The other can then only be destroyed, or assigned to.
    basic_lock_manager(basic_lock_manager&&) noexcept = default;

    /// From one with another executor type.
    template <class Other>
    basic_lock_manager(basic_lock_manager<Other>&& other) noexcept : state_(std::move(detail::access::state_of(other)))
    {
    }

    basic_lock_manager& operator=(basic_lock_manager&& other) noexcept
    {
        auto const before = std::exchange(state_, std::move(other.state_));
        if (before && before != state_)
            detail::shut_down_in_background(before);
        return *this;
    }

    ~basic_lock_manager()
    {
        if (state_)
            detail::shut_down_in_background(state_);
    }

    /// Of a manager whose execution context has gone, the type-erased executor only.
    executor_type get_executor() const { return detail::executor_as<Executor>(detail::executor_of(state_)); }

    /** Acquires @p resources on a majority of the nodes: one, or several at once, of which all are held then or none.

        All nodes are asked at once; the round is decided at the majority. A lost round is cleaned up in the
        background, and followed by another after a jittered, growing pause until `acquire_options::wait` is
        over. Of the acquisitions of one resource that may wait, one at a time asks the nodes; the others of this
        manager queue up behind it in the order of their calls; those who share it, in phases (`acquire_options::mode`). While one that wants
        several resources is the first and waits for some of them, up to `config::max_handovers` that want one of the
        others come before it. An acquisition that wins too late for its ttl goes to the end of the queue.

        Several: an acquisition that waits and has been denied three times keeps what it can get, in the order of the
        names, until it has all or gives up. So acquisitions of single names do not starve it. All keep names in the
        same order, so they do not deadlock. If you hold a lock that you have acquired separately while you wait for
        another one, you can deadlock: use a @ref lock_scope.

        @par Completes
        - with a lock that is valid until @ref lock::valid_until;
        - with an error and an empty lock otherwise.

        @par Completion signature
        `void(error_code, lock)`

        @par Errors
        - @ref errc::contended : somebody else held it, or one of them, all along. Wait longer or give way.
        - @ref errc::no_quorum : too few nodes answered. Look at the nodes, not at the lock.
        - @ref errc::validity_exhausted : the majority came too late. Use a longer ttl, or find what is slow.
        - @ref errc::quarantined : too few nodes vote, because servers have restarted. `attempt_report::quarantine` says how long.
        - @ref errc::invalid_argument : @p resources or an option is out of range; nothing was sent.
        - @ref errc::unsupported : a node cannot do what is asked for, or what the settings ask for; nothing was sent.
        - `asio::error::operation_aborted` : cancelled, or the manager was stopped; or this is a fork of the process that made it.

        @par Cancellation
        | progress                   | total               | partial, terminal                                |
        |----------------------------|---------------------|--------------------------------------------------|
        | queued, or between rounds  | aborted at once     | aborted at once                                  |
        | requests in flight         | this round is last  | aborted at once; clean-up goes on in the manager |
        | won, handler queued        | completes with lock | completes with lock                              |

        @par Lifetime
        @p resources are copied; `acquire_options::report` must live until completion.

        @param resources 1 to 256 names, each of 1 to 512 bytes, without `:=fence`, `:=gone`, `:=turn`, `:=wanted`, `:=shared` and `:=upgrade`, which mark other keys. The same bytes mean the same lock on every client, in every language.
        @param options See @ref acquire_options.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_acquire(resource_set resources, acquire_options options, CompletionToken&& token = default_completion_token())
    {
        return acquire<CompletionToken>(std::move(resources), options, token);
    }

    /// The same, with default options: one round, for ten seconds.
    template <asio::completion_token_for<void(error_code, lock_type)> CompletionToken>
    auto async_acquire(resource_set resources, CompletionToken&& token)
    {
        return async_acquire<CompletionToken>(std::move(resources), acquire_options(), std::forward<CompletionToken>(token));
    }
    auto async_acquire(resource_set resources) { return async_acquire(std::move(resources), acquire_options()); }

    /** Acquires one of @p resources, whichever is free: a semaphore, of which each resource is a permit. `lock::resource` tells which.

        @code
        lock permit = co_await locks.async_acquire_any(slots("mailer", 8), {.ttl = 10s, .wait = 1min});  // at most eight at a time
        @endcode
        What is acquired is the exclusive lock of that one resource, with all that is promised of it: it is extended, lost and given back
        as any lock, and whoever acquires it by its name waits for it. Its fencing token grows with every acquisition of the *same*
        resource; those of different ones say nothing about each other.

        Otherwise as @ref async_acquire, with the same completion, errors, cancellation and lifetime, but:
        - all nodes are asked for whichever is free there; the lock is held where a quorum has chosen the same one. What others have
          chosen is given back in the background. Without a `wait` two who ask in the same moment for the last one may both be denied;
        - who waits stands in the queues of all @p resources, and asks for those for which nobody of this manager comes first;
        - @ref errc::contended : all of them were held by others, or those who asked at the same time took the votes from each other;
        - @ref errc::invalid_argument : there are none, or more than 64, or `acquire_options::mode` is shared.

        @param resources 1 to 64 names, such as @ref slots makes them. One: as @ref async_acquire.
    */
    template <class CompletionToken = default_completion_token>
    auto async_acquire_any(resource_set resources, acquire_options options, CompletionToken&& token = default_completion_token())
    {
        return acquire<CompletionToken>(detail::selection::any_of(std::move(resources)), options, token);
    }

    /// The same, with default options.
    template <asio::completion_token_for<void(error_code, lock_type)> CompletionToken>
    auto async_acquire_any(resource_set resources, CompletionToken&& token)
    {
        return async_acquire_any<CompletionToken>(std::move(resources), acquire_options(), std::forward<CompletionToken>(token));
    }
    auto async_acquire_any(resource_set resources) { return async_acquire_any(std::move(resources), acquire_options()); }

    /** Holds @p resources while @p body runs, and gives it back on every path.

        @p body is called with the lock and runs on a strand of the caller's executor. It is cancelled (all types; a
        coroutine takes note of terminal cancellation) when the lock is lost, before its validity is over, and when the manager is
        stopped, which then waits for it: its lock is kept until it has ended. The lock stays with the operation: @p body may
        extend it, but neither releases nor detaches it, nor moves it away.

        @return what @p body returns
        @throws lock_error with the error of @ref async_acquire, or with @ref errc::lost if the lock was lost
        before @p body had ended, whether it returned or was cancelled
        @throws whatever else @p body throws; if it was cancelled because the manager was stopped, that is
        `asio::error::operation_aborted`

        @par Cancellation
        Terminal: cancels the acquisition or @p body; the release then goes on in the background.

        @par Lifetime
        @p resources are copied. The manager may be destroyed meanwhile, which cancels @p body.

        @param body see @ref lock_body; it is moved into the operation. If its `awaitable` is of an executor type that cannot hold a
        strand, such as `io_context::executor_type`, that executor itself must never run two functions at once.
    */
    template <class F>
    auto with_lock(resource_set resources, acquire_options options, F body)
    {
        // Not in the overload's condition: it would be asked of a token, too, whose call with a lock may not compile.
        static_assert(lock_body<F, lock_type>, "the body takes lock& and returns an asio::awaitable");
        // No coroutine itself: one begins when it is awaited, and the manager may be gone by then.
        return detail::await_body<lock_type>(state_, std::move(resources), options, std::move(body));
    }
    template <lock_body<lock_type> F>
    auto with_lock(resource_set resources, F body)
    {
        return with_lock(std::move(resources), acquire_options(), std::move(body));
    }

    /** The same for any completion token. @p body runs on a strand of the handler's executor, by default the manager's.

        @par Completion signature
        `void(std::exception_ptr, T)`, or `void(std::exception_ptr)` if @p body returns `awaitable<void>`. T must be default
        constructible, as for `asio::co_spawn`.

        @par Cancellation
        All types: as above.
    */
    template <lock_body<lock_type> F, asio::completion_token_for<detail::body_signature<F, lock_type>> CompletionToken>
    auto with_lock(resource_set resources, acquire_options options, F body, CompletionToken&& token)
    {
        return detail::run_body_under_lock<lock_type, CompletionToken>(state_, std::move(resources), options, std::move(body), token);
    }
    template <lock_body<lock_type> F, asio::completion_token_for<detail::body_signature<F, lock_type>> CompletionToken>
    auto with_lock(resource_set resources, F body, CompletionToken&& token)
    {
        return with_lock(std::move(resources), acquire_options(), std::move(body), std::forward<CompletionToken>(token));
    }

    /// @ref with_lock, under the lock of any one of @p resources: see @ref async_acquire_any. The body's `lock::resource` tells which.
    template <class F>
    auto with_any_lock(resource_set resources, acquire_options options, F body)
    {
        static_assert(lock_body<F, lock_type>, "the body takes lock& and returns an asio::awaitable");
        return detail::await_body<lock_type>(state_, detail::selection::any_of(std::move(resources)), options, std::move(body));
    }
    template <lock_body<lock_type> F>
    auto with_any_lock(resource_set resources, F body)
    {
        return with_any_lock(std::move(resources), acquire_options(), std::move(body));
    }
    template <lock_body<lock_type> F, asio::completion_token_for<detail::body_signature<F, lock_type>> CompletionToken>
    auto with_any_lock(resource_set resources, acquire_options options, F body, CompletionToken&& token)
    {
        return detail::run_body_under_lock<lock_type, CompletionToken>(state_, detail::selection::any_of(std::move(resources)), options,
                                                                       std::move(body), token);
    }
    template <lock_body<lock_type> F, asio::completion_token_for<detail::body_signature<F, lock_type>> CompletionToken>
    auto with_any_lock(resource_set resources, F body, CompletionToken&& token)
    {
        return with_any_lock(std::move(resources), acquire_options(), std::move(body), std::forward<CompletionToken>(token));
    }

    /** Goes on with a lock that another process has acquired and detached (`lock::detach`), or has left behind: extends it on all nodes,
        and hands it out.

        It promises that a majority has the lock for the ticket's token *now*, and keeps it from everybody else for `acquire_options::ttl` from the
        start of this, as any lock. Whether somebody else had it in between, after its validity was over, only a fencing token tells, at
        the resource. **Two who resume one ticket do not exclude each other**, nor do they know of each other; and whoever releases by it takes
        it from both. So see to it that one at a time has the ticket.

        The lock's `fencing_token` is the ticket's; none is drawn. A reader that was resumed cannot be upgraded. The ticket is void when the lock has been given back.

        @par Completes
        - with a lock that is valid until @ref lock::valid_until;
        - with an error and an empty lock otherwise; then the ticket is good still, unless the error says otherwise.

        @par Completion signature
        `void(error_code, lock)`

        @par Errors
        - @ref errc::lost : a majority does not have it, or not any more. What is left of it is deleted in the background.
        - @ref errc::no_quorum, @ref errc::quarantined, @ref errc::validity_exhausted : as of @ref async_acquire, for all of `acquire_options::wait`. Nothing is deleted;
          nodes that have agreed keep it for the ttl.
        - @ref errc::invalid_argument : a member of the ticket or an option is out of range; nothing was sent. `attempt_report::message` names it.
        - @ref errc::unsupported : a node cannot do it, or its locks end with the session of who acquired them; nothing was sent.
        - `asio::error::operation_aborted` : cancelled, or the manager was stopped; or this is a fork of the process that made it. Nothing is deleted.

        @par Cancellation
        | progress                    | total               | partial, terminal                                             |
        |-----------------------------|---------------------|---------------------------------------------------------------|
        | connecting, between rounds  | aborted at once     | aborted at once                                               |
        | requests in flight          | this round is last  | aborted at once; the servers may have extended it all the same |
        | won, handler queued         | completes with lock | completes with lock                                           |

        @par Lifetime
        @p ticket is copied; `acquire_options::report` must live until completion.

        @param ticket See @ref lock_ticket.
        @param options Of these `ttl`, `wait` (until enough nodes have answered: nobody who holds the lock is waited for), `renew`, `max_hold` (from the
        start of this) and `report`. `mode` is the ticket's: leave it out.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_resume(lock_ticket ticket, acquire_options options, CompletionToken&& token = default_completion_token())
    {
        constexpr bool explains = detail::throws<std::decay_t<CompletionToken>>;
        auto start = [](auto const& state, lock_ticket what, acquire_options how, detail::acquire_handler handler) {
            detail::start_resume(state, std::move(what), how, std::move(handler), explains);
        };
        using error = std::conditional_t<explains, detail::reported_error, error_code>;
        return initiate<CompletionToken, detail::acquire_handler, error, lock_type>(start, token, std::move(ticket), options);
    }

    /// The same, with default options: one round, for ten seconds.
    template <asio::completion_token_for<void(error_code, lock_type)> CompletionToken>
    auto async_resume(lock_ticket ticket, CompletionToken&& token)
    {
        return async_resume<CompletionToken>(std::move(ticket), acquire_options(), std::forward<CompletionToken>(token));
    }
    auto async_resume(lock_ticket ticket) { return async_resume(std::move(ticket), acquire_options()); }

    /** Releases a lock that another process has acquired: deletes its keys on all nodes, where they are the ticket's token's still.

        Completes when a majority of the nodes is free; the others are released in the background, which goes on until they confirm,
        `config::max_ttl` is over, or the manager's shutdown has completed. Whoever holds the lock by that token loses it, and notices when
        it is extended or renewed next. So the ticket is void from the call on, whatever comes of it.

        @par Completion signature
        `void(error_code)`

        @par Errors
        - @ref errc::not_held : a majority did not have it any more: it was released before, or expired.
        - @ref errc::no_quorum : too few nodes confirmed in time. The release goes on in the background.
        - @ref errc::invalid_argument : a member of the ticket is out of range, see @ref lock_ticket; nothing was sent.
        - @ref errc::unsupported : as of @ref async_resume; nothing was sent.
        - `asio::error::operation_aborted` : cancelled; the release goes on in the background. Or the manager was stopped before, or this is a
          fork of the process that made it; then nothing was sent.

        @par Cancellation
        Terminal and partial: completes at once.

        @par Lifetime
        @p ticket is copied.
    */
    template <class CompletionToken = default_completion_token>
    auto async_release(lock_ticket ticket, CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& state, lock_ticket what, detail::error_handler handler) {
            detail::start_release_by_ticket(state, std::move(what), std::move(handler));
        };
        return initiate<CompletionToken, detail::error_handler, error_code>(start, token, std::move(ticket));
    }

    /** Asks all nodes who holds @p resource. For people and dashboards, not for decisions.

        @par Completion signature
        `void(error_code, lock_info)`

        @par Errors
        - @ref errc::no_quorum : too few nodes answered; what is known is in `lock_info::nodes`.
        - @ref errc::invalid_argument : @p resource is not what @ref async_acquire takes.
        - `asio::error::operation_aborted` : cancelled, or the manager was stopped.

        @par Cancellation
        All types: completes at once.
    */
    template <class CompletionToken = default_completion_token>
    auto async_inspect(std::string resource, CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& state, std::string name, detail::inspect_handler handler) {
            detail::start_inspect(state, std::move(name), std::move(handler));
        };
        return initiate<CompletionToken, detail::inspect_handler, error_code, lock_info>(start, token, std::move(resource));
    }

    /** Stops the manager: no new locks, waiting operations are aborted, who holds locks is told to stop (@ref basic_lock::async_wait_lost
        and the bodies of @ref with_lock), what is left behind is cleaned up, connections are closed.

        A lock is kept until its holder has let go of it: until the body has ended (renewed meanwhile, if it renews), or until the
        handle has been released or destroyed, or has run out without further renewal. So destroy the handles that you have before you
        wait for this. After that it takes at most `config::connect_timeout` + `config::node_timeout`; on nodes that cannot be
        reached by then keys stay until their ttl is over. Calling it again waits for the same end.

        @par Completion signature
        `void(error_code)`

        @par Errors
        - @ref errc::no_quorum : some keys could not be released in time; they expire with their ttl.
        - `asio::error::operation_aborted` : cancelled. The shutdown goes on.
    */
    template <class CompletionToken = default_completion_token>
    auto async_shutdown(CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& state, detail::error_handler handler) {
            detail::start_shutdown(state, std::move(handler));
        };
        return initiate<CompletionToken, detail::error_handler, error_code>(start, token);
    }

    /// Counters and the present load. Any thread, also while the execution context is destroyed.
    redlock::stats stats() const { return detail::stats_of(*state_); }

private:
    friend detail::access;
    explicit basic_lock_manager(std::shared_ptr<detail::manager_state> e) noexcept : state_(std::move(e)) {}

    template <class CompletionToken>
    auto acquire(detail::selection selected, acquire_options options, std::remove_reference_t<CompletionToken>& token)
    {
        constexpr bool explains = detail::throws<std::decay_t<CompletionToken>>;
        auto start = [](auto const& state, detail::selection what, acquire_options how, detail::acquire_handler handler) {
            detail::start_acquire(state, std::move(what), how, std::move(handler), explains);
        };
        using error = std::conditional_t<explains, detail::reported_error, error_code>;
        return initiate<CompletionToken, detail::acquire_handler, error, lock_type>(start, token, std::move(selected), options);
    }

    template <class CompletionToken, class Completion, class... Results, class Start, class... Args>
    auto initiate(Start start, std::remove_reference_t<CompletionToken>& token, Args&&... args)
    {
        return detail::initiate<void(Results...)>::template on<Completion, CompletionToken>(state_, start, token,
                                                                                            std::forward<Args>(args)...);
    }

    std::shared_ptr<detail::manager_state> state_;
};

using lock_manager = basic_lock_manager<asio::any_io_executor>;

}  // namespace redlock
