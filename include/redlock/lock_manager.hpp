#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/detail/body_run.hpp>
#include <redlock/detail/call_options.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/detail/same_boost.hpp>
#include <redlock/detail/selection.hpp>
#include <redlock/error.hpp>
#include <redlock/inspect.hpp>
#include <redlock/lock.hpp>
#include <redlock/lock_error.hpp>
#include <redlock/lock_ticket.hpp>
#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>
#include <redlock/options.hpp>
#include <redlock/report.hpp>
#include <redlock/resource_set.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/execution_context.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace redlock::inline v1 {

namespace detail {
using inspect_handler = completion<void(error_code, lock_info)>;
using break_handler = completion<void(error_code, break_info)>;
using list_handler = completion<void(error_code, lock_page)>;
using found_handler = completion<void(error_code, attempt_report)>;
}

namespace locks {

REDLOCK_API std::shared_ptr<manager_state> make_manager_state(asio::any_io_executor, manager_options);
REDLOCK_API std::shared_ptr<manager_state> make_manager_state(asio::any_io_executor, manager_options,
                                                              std::vector<std::shared_ptr<node>>);
REDLOCK_API void shut_down_in_background(std::shared_ptr<manager_state>) noexcept;
REDLOCK_API stats stats_of(manager_state const&);
REDLOCK_API void start_inspect(std::shared_ptr<manager_state>, std::string resource, detail::inspect_handler);
REDLOCK_API void start_break(std::shared_ptr<manager_state>, lock_info seen, detail::break_handler);
REDLOCK_API void start_list(std::shared_ptr<manager_state>, std::string pattern, std::size_t page_size,
                            std::string from, detail::list_handler);
REDLOCK_API void start_watch(std::shared_ptr<manager_state>, lock_info seen, detail::inspect_handler);
REDLOCK_API void start_watch(std::shared_ptr<manager_state>, std::string resource, detail::inspect_handler);
REDLOCK_API void start_resume(std::shared_ptr<manager_state>, lock_ticket, detail::call_options,
                              detail::acquire_handler, bool explains);
REDLOCK_API void start_release_by_ticket(std::shared_ptr<manager_state>, lock_ticket, detail::error_handler);
REDLOCK_API void start_found(std::shared_ptr<manager_state>, detail::found_handler);
REDLOCK_API void start_shutdown(std::shared_ptr<manager_state>, shutdown_options, detail::error_handler);

}  // namespace locks

/** Acquires distributed locks on a majority (a quorum) of lock servers.

    Make one manager per process and set of servers, and share it. It connects on first use. Open connections are
    outstanding work: to let `io_context::run` return, wait for @ref async_shutdown, or destroy the manager.

    The manager's own work, such as renewal and clean-up, runs on a strand of its executor. Handlers are posted to their
    associated executor, by default the manager's. A handler that blocks every thread of that executor also blocks
    renewal. If handlers may block, give the manager an executor of its own. If memory runs out, operations complete
    with `boost::system::errc::not_enough_memory`.

    @par Lifetime
    Operations may run longer than the manager: if they still wait when it is destroyed, they are aborted. The execution
    context may be destroyed first. Handlers of pending operations are then destroyed without a call. Later calls
    complete with `asio::error::operation_aborted`, and @ref async_shutdown without an error. They call a handler
    without an executor of its own before they return.

    @tparam Executor The executor of the caller's coroutines and I/O objects; it determines the default completion
    token. If you need no default token, use `lock_manager`, which has the type-erased executor.

    @par Thread safety
    Safe on distinct and on shared objects, except for moving. No function waits for a server.
*/
template <class Executor>
class basic_lock_manager {
public:
    /// The executor of the caller's coroutines and I/O objects.
    using executor_type = Executor;

    /// The locks of this manager.
    using lock_type = basic_lock<Executor>;

    /// The token of asynchronous functions that are called without one: that of the executor, or else `asio::deferred`.
    using default_completion_token = detail::default_token<Executor>;

    /// The manager type with another executor: `asio::use_awaitable.as_default_on(lock_manager(…))`.
    template <class Other>
    struct rebind_executor {
        /// That manager type.
        using other = basic_lock_manager<Other>;
    };

    /** Makes a manager that locks on `manager_options::nodes`. It does not connect yet, but reads the files of
        `manager_options::tls` if a node uses TLS.

        @param executor Runs the manager's work, and handlers without an executor of their own.
        @param settings See @ref manager_options.

        @throws std::invalid_argument if @p settings is broken; the message names the field, the value and the limit.
    */
    basic_lock_manager(Executor const& executor, manager_options settings)
        : state_(locks::make_manager_state(executor, std::move(settings)))
    {
    }

    /// Makes a manager that locks also on @p nodes, objects of your own. Each has one vote, as each of
    /// `manager_options::nodes` has. The manager starts and closes them; one object serves one manager.
    /// @throws std::invalid_argument also if a node is null or given twice
    basic_lock_manager(Executor const& executor, manager_options settings, std::vector<std::shared_ptr<node>> nodes)
        : state_(locks::make_manager_state(executor, std::move(settings), std::move(nodes)))
    {
    }

    /// Makes a manager on the executor of @p context, such as an `io_context` or a `thread_pool`.
    template <class ExecutionContext>
        requires std::is_convertible_v<ExecutionContext&, asio::execution_context&>
    basic_lock_manager(ExecutionContext& context, manager_options settings)
        : basic_lock_manager(Executor(context.get_executor()), std::move(settings))
    {
    }

    /// Moves the manager. One that was moved from can only be destroyed or assigned to.
    basic_lock_manager(basic_lock_manager&&) noexcept = default;

    /// Converts from a manager with another executor type.
    template <class Other>
    basic_lock_manager(basic_lock_manager<Other>&& other) noexcept : state_(std::move(detail::access::state_of(other)))
    {
    }

    /// Moves the manager. The one that was here before shuts down in the background, as if it were destroyed.
    basic_lock_manager& operator=(basic_lock_manager&& other) noexcept
    {
        auto const before = std::exchange(state_, std::move(other.state_));
        if (before && before != state_)
            locks::shut_down_in_background(before);
        return *this;
    }

    /// Does in the background what @ref async_shutdown does. A lock is kept until its holder has let go of it, or its
    /// validity is over.
    ~basic_lock_manager()
    {
        if (state_)
            locks::shut_down_in_background(state_);
    }

    /// The executor of the manager. After the execution context was destroyed, only `lock_manager` (the type-erased
    /// executor) may call this.
    /// @throws std::invalid_argument if the executor is of another type than the manager's
    executor_type get_executor() const { return detail::executor_as<Executor>(locks::executor_of(state_)); }

    /** Tries once, or for as long as `acquire_options::wait` says, to acquire one resource, or several at once (all or
        none), on a majority of the nodes. To try once, call @ref async_try_acquire , which says so in its name.

        **Renewal.** A handle is not renewed by default. If the program forgot to release it, the manager would renew it
        for ever, and nobody else would get the lock. If the work may take longer than the ttl, use @ref with_lock ,
        which renews until its body has ended, or set `acquire_options::renew`.

        **Rounds.** A round asks all nodes at once, and is decided at the majority. A lost round is cleaned up in the
        background. Further rounds follow until `acquire_options::wait` is over, after pauses with back-off and jitter.

        **Queues.** Acquisitions that may wait queue up in this manager, for each resource in the order of their calls.
        Only the first in the queue asks the nodes. Readers and writers alternate in phases: see
        `acquire_options::mode`. If a round is won too late for the ttl, its acquisition goes to the end of the queue.

        **Several resources.** After a waiting acquisition was denied three times, it keeps the locks that it gets, in
        the order of the names. It keeps them until it has all of them or gives up. So acquisitions of single names do
        not starve it. All acquisitions use the same order, so they do not deadlock. If the first in the queue waits for
        some of its names, up to 16 acquisitions of its other names pass it.

        Waiting for a lock while you hold another one that was acquired separately can deadlock: use a @ref lock_scope.

        @par Completes
        - with a lock that is valid until @ref lock::valid_until;
        - with an error and an empty lock otherwise. If `acquire_options::explain` is set, `lock::report` tells why.

        @par Completion signature
        `void(error_code, lock)`

        @par Errors
        - @ref errc::contended : all the time, somebody else held the resource, or one of several. Wait longer, or give
          way.
        - @ref errc::no_quorum : too few nodes answered. Look at the nodes, not at the lock.
        - @ref errc::validity_exhausted : the majority came too late. Use a longer ttl, or find what is slow.
        - @ref errc::quarantined : servers are new or have restarted, so too few nodes vote.
          `attempt_report::quarantine` says how long. For a set of new servers: @ref async_found.
        - @ref errc::overloaded : too many calls of this manager were under way, so no node was asked.
        - @ref errc::invalid_argument : @p resources or an option is out of range. Nothing was sent.
        - @ref errc::unsupported : a node cannot do what the call or the settings ask for. Nothing was sent.
        - `asio::error::operation_aborted` : the call was cancelled, or the manager was stopped, or this process is a
          fork of the one that made the manager.

        @par Cancellation
        | progress                   | total               | partial, terminal                              |
        |----------------------------|---------------------|------------------------------------------------|
        | queued, or between rounds  | aborted at once     | aborted at once                                |
        | requests in flight         | this round is last  | aborted at once; the manager cleans up         |
        | won, handler queued        | completes with lock | completes with lock                            |

        @par Lifetime
        The arguments are copied, with what the options name, before the call returns.

        @param resources 1 to 256 names, each of 1 to 512 bytes. The same bytes mean the same lock on every client, in
        every language. A name must not contain a mark of other keys: `:=fence`, `:=gone`, `:=life`, `:=session`,
        `:=settings`, `:=shared`, `:=tenure`, `:=turn`, `:=upgrade`, `:=wanted`.
        @param options See @ref acquire_options.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_acquire(resource_set resources, acquire_options options,
                       CompletionToken&& token = default_completion_token())
    {
        return acquire<CompletionToken>(std::move(resources), options, token);
    }

    /// Tries once with default options, as @ref async_try_acquire : for a ttl of ten seconds.
    template <asio::completion_token_for<void(error_code, lock_type)> CompletionToken>
    auto async_acquire(resource_set resources, CompletionToken&& token)
    {
        return async_acquire<CompletionToken>(std::move(resources), acquire_options(),
                                              std::forward<CompletionToken>(token));
    }

    /// Tries once with default options and the default token.
    auto async_acquire(resource_set resources) { return async_acquire(std::move(resources), acquire_options()); }

    /** Tries once to acquire @p resources: one round, which wins or fails at once.

        This is @ref async_acquire without `acquire_options::wait`, under a name that says so. If another client holds
        the lock, it completes with @ref errc::contended . To wait for the lock, call @ref async_acquire .

        Completion, errors, cancellation and lifetime are those of @ref async_acquire , except:
        - @ref errc::invalid_argument : also if `acquire_options::wait` is not zero. Nothing was sent.

        @param resources 1 to 256 names, as for @ref async_acquire .
        @param options See @ref acquire_options.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_try_acquire(resource_set resources, acquire_options options,
                           CompletionToken&& token = default_completion_token())
    {
        return acquire<CompletionToken>(detail::selection(std::move(resources)).tried_once(), options, token);
    }

    /// Tries once with default options: for a ttl of ten seconds.
    template <asio::completion_token_for<void(error_code, lock_type)> CompletionToken>
    auto async_try_acquire(resource_set resources, CompletionToken&& token)
    {
        return async_try_acquire<CompletionToken>(std::move(resources), acquire_options(),
                                                  std::forward<CompletionToken>(token));
    }

    /// Tries once with default options and the default token.
    auto async_try_acquire(resource_set resources)
    {
        return async_try_acquire(std::move(resources), acquire_options());
    }

    /** Tries once, or for as long as `acquire_options::wait` says, to acquire any one of @p resources: a semaphore,
        with one resource for each permit. `lock::resource` tells which.

        @code
        // at most eight at a time
        lock permit = co_await locks.async_acquire_any(slots("mailer", 8), {.ttl = 10s, .wait = 1min});
        @endcode

        The result is the exclusive lock of that resource, with all its promises. It is extended, lost and released as
        any lock. An acquisition of its name waits for it. Its fencing token increases with every acquisition of the
        *same* resource. Fencing tokens of different resources cannot be compared.

        Completion, errors, cancellation and lifetime are those of @ref async_acquire, except:
        - Each node grants a resource that is free there. The lock is held where a quorum has chosen the same resource.
          The manager gives back in the background what other nodes have chosen.
        - Without `wait`, two calls that ask for the last free resource at the same time may both be denied.
        - A waiting acquisition is in the queues of all @p resources. It asks for those for which it is the first.
        - @ref errc::contended : others held all of them, or concurrent calls split the votes.
        - @ref errc::invalid_argument : also for no resource, for more than 64, or if `acquire_options::mode` is not
          exclusive.

        @param resources 1 to 64 names, such as those that @ref slots makes. With one name, this is @ref async_acquire.
        @param options See @ref acquire_options.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_acquire_any(resource_set resources, acquire_options options,
                           CompletionToken&& token = default_completion_token())
    {
        return acquire<CompletionToken>(detail::selection::any_of(std::move(resources)), options, token);
    }

    /// Tries once with default options, as @ref async_try_acquire_any : for a ttl of ten seconds.
    template <asio::completion_token_for<void(error_code, lock_type)> CompletionToken>
    auto async_acquire_any(resource_set resources, CompletionToken&& token)
    {
        return async_acquire_any<CompletionToken>(std::move(resources), acquire_options(),
                                                  std::forward<CompletionToken>(token));
    }

    /// Tries once with default options and the default token.
    auto async_acquire_any(resource_set resources)
    {
        return async_acquire_any(std::move(resources), acquire_options());
    }

    /** Tries once to acquire any one of @p resources: @ref async_acquire_any without `acquire_options::wait`.

        Completion, errors, cancellation and lifetime are those of @ref async_acquire_any , except:
        - @ref errc::invalid_argument : also if `acquire_options::wait` is not zero. Nothing was sent.

        @param resources 1 to 64 names, as for @ref async_acquire_any .
        @param options See @ref acquire_options.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_try_acquire_any(resource_set resources, acquire_options options,
                               CompletionToken&& token = default_completion_token())
    {
        return acquire<CompletionToken>(detail::selection::any_of(std::move(resources)).tried_once(), options, token);
    }

    /// Tries once with default options: for a ttl of ten seconds.
    template <asio::completion_token_for<void(error_code, lock_type)> CompletionToken>
    auto async_try_acquire_any(resource_set resources, CompletionToken&& token)
    {
        return async_try_acquire_any<CompletionToken>(std::move(resources), acquire_options(),
                                                      std::forward<CompletionToken>(token));
    }

    /// Tries once with default options and the default token.
    auto async_try_acquire_any(resource_set resources)
    {
        return async_try_acquire_any(std::move(resources), acquire_options());
    }

    /** Runs @p body while holding @p resources; without `acquire_options::wait`, it tries once to acquire them. It
        releases them when @p body has ended, also after an error or a cancellation.

        The manager renews the lock until @p body has ended, unless `acquire_options::renew` is @ref renewal::none .
        If @p body may hang, `acquire_options::max_hold` limits how long it keeps the lock.

        @p body is called with the lock and runs on a strand of the caller's executor. It is cancelled
        - when the lock is lost, before its validity is over;
        - when the manager is stopped. The manager then waits for @p body, and keeps its lock until it has ended.

        The cancellation has all types; a coroutine reacts to terminal cancellation by default. The lock stays with the
        operation: @p body may extend it, but must not release, detach or move it.

        @par Completes
        when @p body has ended and the lock was released, as by @ref basic_lock::async_release. After a cancellation:
        when @p body has ended

        @return an `asio::awaitable` of what @p body returns; with a token, what the token makes of it

        @throws lock_error with an error of @ref async_acquire : @p body was not called.
        @throws lock_error with @ref errc::lost : the lock was lost before @p body returned, or before it ended by
        cancellation. Also if no majority of the nodes had the lock any more when it was released.
        @throws lock_error with @ref errc::not_held : @p body has released or moved the lock.
        @throws whatever else @p body throws. If it was cancelled because the manager was stopped, that is usually
        `asio::error::operation_aborted`.

        @par Cancellation
        Terminal: cancels the acquisition or @p body. The release then goes on in the background.

        @par Lifetime
        @p resources and @p options are copied, with what the options name, before the call returns. The manager may be
        destroyed meanwhile, which cancels @p body.

        @param resources The names, as for @ref async_acquire.
        @param options See @ref acquire_options.
        @param body See @ref lock_body; it is moved or copied into the operation. If its `awaitable` has an executor
        type that cannot hold a strand, such as `io_context::executor_type`, that executor must never run two functions
        at the same time.
    */
    template <class F>
    auto with_lock(resource_set resources, acquire_options options, F&& body)
    {
        // Not in the overload's condition: the compiler would check a token, too, whose call with a lock may not
        // compile.
        static_assert(lock_body<F, lock_type>, "the body takes lock& and returns an asio::awaitable");
        // Not itself a coroutine: a coroutine begins when it is awaited, and the manager may be gone by then.
        return detail::await_body<lock_type>(state_, std::move(resources), options, std::forward<F>(body));
    }

    /// Runs @p body with default options: tries once to acquire, for a ttl of ten seconds, which the manager renews.
    template <lock_body<lock_type> F>
    auto with_lock(resource_set resources, F&& body)
    {
        return with_lock(std::move(resources), acquire_options(), std::forward<F>(body));
    }

    /** Runs @p body while holding @p resources, for any completion token. @p body runs on a strand of the handler's
        executor, by default the manager's.

        @par Completion signature
        `void(std::exception_ptr, T)`, or `void(std::exception_ptr)` if @p body returns `awaitable<void>`. T must be
        default constructible, as for `asio::co_spawn`.

        @par Cancellation
        All types: cancels the acquisition or @p body. The release then goes on in the background.
    */
    template <lock_body<lock_type> F, asio::completion_token_for<detail::body_signature<F, lock_type>> CompletionToken>
    auto with_lock(resource_set resources, acquire_options options, F&& body, CompletionToken&& token)
    {
        return detail::run_body_under_lock<lock_type, CompletionToken>(state_, std::move(resources), options,
                                                                       std::forward<F>(body), token);
    }

    /// Runs @p body with default options, for any completion token.
    template <lock_body<lock_type> F, asio::completion_token_for<detail::body_signature<F, lock_type>> CompletionToken>
    auto with_lock(resource_set resources, F&& body, CompletionToken&& token)
    {
        return with_lock(std::move(resources), acquire_options(), std::forward<F>(body),
                         std::forward<CompletionToken>(token));
    }

    REDLOCK_WARN_OF_TEMPORARY_BODIES(with_lock, /* not const */, state_, std::move(resources))

    /** Runs @p body while holding any one of @p resources, such as a semaphore's permit; without
        `acquire_options::wait`, it tries once to acquire one.

        The lock is acquired as by @ref async_acquire_any; its `lock::resource` tells which one it is. Completion,
        renewal, errors, cancellation and lifetime are those of @ref with_lock.

        @param resources 1 to 64 names, such as those that @ref slots makes.
        @param options See @ref acquire_options.
        @param body See @ref lock_body; it is moved or copied into the operation.
    */
    template <class F>
    auto with_any_lock(resource_set resources, acquire_options options, F&& body)
    {
        static_assert(lock_body<F, lock_type>, "the body takes lock& and returns an asio::awaitable");
        return detail::await_body<lock_type>(state_, detail::selection::any_of(std::move(resources)), options,
                                             std::forward<F>(body));
    }

    /// Runs @p body with default options: tries once to acquire, for a ttl of ten seconds, which the manager renews.
    template <lock_body<lock_type> F>
    auto with_any_lock(resource_set resources, F&& body)
    {
        return with_any_lock(std::move(resources), acquire_options(), std::forward<F>(body));
    }

    /// Runs @p body while holding any one of @p resources, for any completion token: see @ref with_lock with a token.
    template <lock_body<lock_type> F, asio::completion_token_for<detail::body_signature<F, lock_type>> CompletionToken>
    auto with_any_lock(resource_set resources, acquire_options options, F&& body, CompletionToken&& token)
    {
        return detail::run_body_under_lock<lock_type, CompletionToken>(
            state_, detail::selection::any_of(std::move(resources)), options, std::forward<F>(body), token);
    }

    /// Runs @p body with default options, for any completion token.
    template <lock_body<lock_type> F, asio::completion_token_for<detail::body_signature<F, lock_type>> CompletionToken>
    auto with_any_lock(resource_set resources, F&& body, CompletionToken&& token)
    {
        return with_any_lock(std::move(resources), acquire_options(), std::forward<F>(body),
                             std::forward<CompletionToken>(token));
    }

    REDLOCK_WARN_OF_TEMPORARY_BODIES(with_any_lock, /* not const */, state_,
                                     detail::selection::any_of(std::move(resources)))

    /** Takes over a lock that another process has detached (`lock::detach`) or left behind, by extending it on all
        nodes.

        On success a majority has the lock for the ticket's token *now*. It is then held as any lock, for
        `acquire_options::ttl` from the start of the round that succeeded. Success does not tell whether somebody else
        held the lock in between, after its validity was over. Only a fencing token shows that, at the resource.

        **Two processes that resume one ticket do not exclude each other**, and do not know of each other. If one of
        them releases the lock, both lose it. Make sure that one process at a time has the ticket, or set
        `acquire_options::new_token`: then one of them gets the lock, and the ticket is void.

        `lock::fencing_token` is the ticket's; no new token is drawn. A reader that was resumed cannot be upgraded.
        After the lock was released, the ticket is void.

        @par Completes
        - with a lock that is valid until @ref lock::valid_until;
        - with an error and an empty lock otherwise. The ticket stays usable, unless the error says otherwise.

        @par Completion signature
        `void(error_code, lock)`

        @par Errors
        - @ref errc::lost : no majority of the nodes has the lock. The ticket is void. Unless
          `acquire_options::new_token` is set, the manager deletes the rest in the background. Acquire the lock anew.
        - @ref errc::no_quorum , @ref errc::quarantined , @ref errc::validity_exhausted , @ref errc::overloaded : as for
          @ref async_acquire, during all of `acquire_options::wait`. Nothing is deleted; nodes that have agreed keep
          the lock for the ttl.
        - @ref errc::invalid_argument : a member of the ticket or an option is out of range. Nothing was sent.
          `attempt_report::message` names it.
        - @ref errc::unsupported : a node cannot do this, or its locks end with the session of the process that acquired
          them. Nothing was sent.
        - `asio::error::operation_aborted` : the call was cancelled, or the manager was stopped, or this process is a
          fork of the one that made the manager. Nothing is deleted.

        @par Cancellation
        | progress                    | total               | partial, terminal                                |
        |-----------------------------|---------------------|--------------------------------------------------|
        | connecting, between rounds  | aborted at once     | aborted at once                                  |
        | requests in flight          | this round is last  | aborted at once; servers may have extended it    |
        | won, handler queued         | completes with lock | completes with lock                              |

        @par Lifetime
        The arguments are copied, with what the options name, before the call returns.

        @param ticket See @ref lock_ticket.
        @param options Leave out `mode`, which is the ticket's, and `passes_writers`. `max_hold` is counted from the
        start of this call. `wait` is for nodes that do not answer: this call never waits for another holder.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_resume(lock_ticket ticket, acquire_options options, CompletionToken&& token = default_completion_token())
    {
        constexpr bool explains = detail::throws<std::decay_t<CompletionToken>>;
        auto start = [](auto const& state, lock_ticket what, detail::call_options how,
                        detail::acquire_handler handler) {
            locks::start_resume(state, std::move(what), std::move(how), std::move(handler), explains);
        };
        using error = std::conditional_t<explains, detail::thrown_error, error_code>;
        return initiate<CompletionToken, detail::acquire_handler, error, lock_type>(start, token, std::move(ticket),
                                                                                    detail::call_options(options));
    }

    /// Resumes with default options: one round, for a ttl of ten seconds.
    template <asio::completion_token_for<void(error_code, lock_type)> CompletionToken>
    auto async_resume(lock_ticket ticket, CompletionToken&& token)
    {
        return async_resume<CompletionToken>(std::move(ticket), acquire_options(),
                                             std::forward<CompletionToken>(token));
    }

    /// Resumes with default options and the default token.
    auto async_resume(lock_ticket ticket) { return async_resume(std::move(ticket), acquire_options()); }

    /** Releases a lock that another process has acquired: each node deletes the keys that still have the ticket's
        token.

        The manager releases the nodes that have not confirmed in the background: until they confirm,
        `manager_options::max_ttl` is over, or its shutdown has completed. A process that holds the lock by that token
        loses it, and notices at its next extension or renewal. So the ticket is void from the call on, whatever the
        outcome.

        @par Completes
        when a majority of the nodes is free, or with an error

        @par Completion signature
        `void(error_code)`

        @par Errors
        - @ref errc::not_held : no majority of the nodes had the lock any more: it was released before, or expired.
        - @ref errc::no_quorum : too few nodes confirmed in time. The release goes on in the background.
        - @ref errc::invalid_argument : a member of the ticket is out of range, see @ref lock_ticket. Nothing was sent.
        - @ref errc::unsupported : a node cannot do this, or its locks end with the session of the process that acquired
          them. Nothing was sent.
        - `asio::error::operation_aborted` : the call was cancelled; the release goes on in the background. Or the
          manager was stopped before, or this process is a fork of the one that made the manager; then nothing was sent.

        @par Cancellation
        Terminal and partial: completes at once. Total is ignored.

        @par Lifetime
        @p ticket is copied.

        @param ticket See @ref lock_ticket.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_release(lock_ticket ticket, CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& state, lock_ticket what, detail::error_handler handler) {
            locks::start_release_by_ticket(state, std::move(what), std::move(handler));
        };
        return initiate<CompletionToken, detail::error_handler, error_code>(start, token, std::move(ticket));
    }

    /** Asks all nodes which client holds @p resource. This is for people and dashboards, not for decisions: the answer
        may be outdated when it arrives. To decide, acquire the lock.

        @par Completes
        when all nodes have answered, or `manager_options::node_timeout` (or a store's longer timeout) is over

        @par Completion signature
        `void(error_code, lock_info)`

        @par Errors
        - @ref errc::no_quorum : too few nodes answered. `lock_info::nodes` has the answers that came.
        - @ref errc::invalid_argument : @p resource is not a name that @ref async_acquire accepts. Nothing was sent.
        - `asio::error::operation_aborted` : the call was cancelled, or the manager was stopped, or this process is a
          fork of the one that made the manager.

        @par Cancellation
        All types: completes at once.

        @par Lifetime
        @p resource is copied.

        @param resource One name, as for @ref async_acquire.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_inspect(std::string resource, CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& state, std::string name, detail::inspect_handler handler) {
            locks::start_inspect(state, std::move(name), std::move(handler));
        };
        return initiate<CompletionToken, detail::inspect_handler, error_code, lock_info>(start, token,
                                                                                         std::move(resource));
    }

    /** Takes a lock away from its holder, for operators. Only the values in @p seen are deleted. If another client has
        acquired the lock since @ref async_inspect, it keeps the lock.

        **The holder continues until it notices**: at its next renewal, about a third of its ttl later. Without renewal
        it notices when its validity ends. Until then two clients may work at the same time. Only a resource that
        refuses old fencing tokens is safe from the old holder.

        The values that are deleted are those of the holder in @p seen and of its readers. If @p seen is not locked,
        they are the values of all its nodes.

        @par Completes
        when all nodes have answered, or `manager_options::node_timeout` (or a store's longer timeout) is over. The
        manager asks nodes that have not answered again in the background.

        @par Completion signature
        `void(error_code, break_info)`

        @par Errors
        - @ref errc::not_held : no node had these values any more. The lock was released, has expired, or another
          client has it. Inspect it again.
        - @ref errc::no_quorum : too few nodes answered, so it is unknown whether the lock is free.
          `break_info::nodes` has the answers that came.
        - @ref errc::invalid_argument : @p seen has no value, or no name that @ref async_acquire accepts. Nothing was
          sent.
        - @ref errc::unsupported : the manager only reads (`manager_options::read_only`). Nothing was sent.
        - `asio::error::operation_aborted` : the call was cancelled, or the manager was stopped, or this process is a
          fork of the one that made the manager. Values may have been deleted.

        @par Cancellation
        Terminal and partial: completes at once. Values may have been deleted. Total is ignored.

        @par Lifetime
        @p seen is copied.

        @param seen The result of @ref async_inspect.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_break(lock_info seen, CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& state, lock_info what, detail::break_handler handler) {
            locks::start_break(state, std::move(what), std::move(handler));
        };
        return initiate<CompletionToken, detail::break_handler, error_code, break_info>(start, token, std::move(seen));
    }

    /** Lists the locks that match @p pattern, a page at a time, for people and dashboards.

        @code
        std::string next;
        do {
            lock_page page = co_await locks.async_list("job-*", {.from = next});
            for (lock_info const& l : page.locks)
                show(l);
            next = std::move(page.next);
        } while (!next.empty());
        @endcode

        Each lock comes once, from the first node that has it, with the answers of all nodes as from @ref async_inspect.
        So a lock may be listed that is on no majority of the nodes. The manager remembers nothing between pages, and
        the memory for a page does not depend on the number of locks. Another manager of the same nodes can continue.

        Locks that are acquired or released meanwhile may be missing. A lock may come twice if a node fails meanwhile,
        or if a server's table of keys grows or shrinks.

        The costs: each node lists all keys with the prefix and the part of @p pattern before its first special
        character. Each key is inspected on all nodes, and once more for each further node that lists it.

        @par Completes
        when a page is full, or after a thousand keys

        @par Completion signature
        `void(error_code, lock_page)`

        @par Errors
        - @ref errc::no_quorum : so many nodes could not list their locks that locks may be missing.
          `lock_page::nodes` says which nodes. The page has the locks that the others have listed, and
          `lock_page::next` is valid.
        - @ref errc::invalid_argument : an option is out of range, `list_options::from` does not come from a page with
          this pattern, or @p pattern has more than 512 bytes. Nothing was sent.
        - `asio::error::operation_aborted` : the call was cancelled, or the manager was stopped, or this process is a
          fork of the one that made the manager.

        @par Cancellation
        All types: completes at once.

        @par Lifetime
        The arguments are copied, with what the options name, before the call returns.

        @param pattern The names to list. `*` stands for any bytes, `?` for one byte, `[a-z]` for one of some bytes and
        `[^a-z]` for one of the others. A backslash takes the special meaning from the next character. 0 to 512 bytes;
        "*" lists all locks.
        @param options See @ref list_options.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_list(std::string pattern, list_options options, CompletionToken&& token = default_completion_token())
    {
        auto start = [size = options.page_size](auto const& state, std::string names, std::string from,
                                                detail::list_handler handler) {
            locks::start_list(state, std::move(names), size, std::move(from), std::move(handler));
        };
        return initiate<CompletionToken, detail::list_handler, error_code, lock_page>(start, token, std::move(pattern),
                                                                                      std::string(options.from));
    }

    /// Lists the locks with default options: the first hundred.
    template <asio::completion_token_for<void(error_code, lock_page)> CompletionToken>
    auto async_list(std::string pattern, CompletionToken&& token)
    {
        return async_list<CompletionToken>(std::move(pattern), list_options(), std::forward<CompletionToken>(token));
    }

    /// Lists the locks with default options and the default token.
    auto async_list(std::string pattern) { return async_list(std::move(pattern), list_options()); }

    /** Waits until the lock has another holder than in @p seen: until it was acquired, released or has expired.

        @code
        lock_info seen = co_await locks.async_inspect("nightly");
        for (;;) {
            show(seen);
            seen = co_await locks.async_watch(std::move(seen));
        }
        @endcode

        The holder is the client that a majority of the nodes names, or nobody. If the lock is shared, all readers
        together are its holder, as far as the nodes list them. If the holder changes several times between two looks of
        the manager, you see only the last change. For work that needs the lock, wait in @ref async_acquire : it is fair
        and faster.

        The manager looks again when a node notifies it of a change, when the lock may have expired, and at least every
        ten seconds. If less than a majority of the nodes notify, it looks once a second, and four times a second while
        the lock is free. Redis does not notify of a free lock, because it would remember the name for ever.

        @par Completes
        - with the new state of the lock;
        - with an error and @p seen otherwise.

        It does not complete while too few nodes answer.

        @par Completion signature
        `void(error_code, lock_info)`

        @par Errors
        - @ref errc::invalid_argument : `lock_info::resource` is not a name that @ref async_acquire accepts. Nothing was
          sent.
        - `asio::error::operation_aborted` : the call was cancelled, or the manager was stopped, or this process is a
          fork of the one that made the manager.

        @par Cancellation
        All types: completes at once.

        @par Lifetime
        @p seen is copied.

        @param seen The result of @ref async_inspect or of this function.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_watch(lock_info seen, CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& state, lock_info before, detail::inspect_handler handler) {
            locks::start_watch(state, std::move(before), std::move(handler));
        };
        return initiate<CompletionToken, detail::inspect_handler, error_code, lock_info>(start, token, std::move(seen));
    }

    /// Waits until @p resource has another holder than at the first look, at the beginning of this call.
    template <class CompletionToken = default_completion_token>
    auto async_watch(std::string resource, CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& state, std::string name, detail::inspect_handler handler) {
            locks::start_watch(state, std::move(name), std::move(handler));
        };
        return initiate<CompletionToken, detail::inspect_handler, error_code, lock_info>(start, token,
                                                                                         std::move(resource));
    }

    /** Founds the set: lets new nodes vote at once, before the first lock of a prefix.

        A node that is new to `manager_options::prefix` does not vote for `manager_options::max_ttl`, because it may be
        an earlier node that has lost everything. If *all* nodes of the set are new, no client can hold a lock there.
        Then this call notes on each node that the set was founded, and from then on all clients count its votes. Call
        it once, where the servers are set up: `redlock nodes init` is this call. With `restart_guard::automatic`, the
        first acquisition does the same by itself.

        Servers that have lost all their keys look new, too. So the caller vouches that they are newly installed, or
        that no client has held a lock of the prefix for `manager_options::max_ttl`.

        Nodes that never forget, such as etcd, need no founding. If they are mixed with others, only the others are
        founded. If all nodes vote already, nothing happens, so the call can be repeated. Two calls at the same time
        both succeed.

        @par Completes
        when all nodes have answered, or `manager_options::connect_timeout` plus `manager_options::node_timeout` (or a
        store's longer timeout) is over, with
        - no error: all nodes vote. `attempt_report::rounds` is 1 if this call has founded them, and 0 if they voted
          before;
        - an error otherwise. Nothing was changed, unless a node failed while it was being founded.

        `attempt_report::nodes` says for each node whether it votes, or why it could not be founded.

        @par Completion signature
        `void(error_code, attempt_report)`

        @par Errors
        - @ref errc::no_quorum : a node is away or refuses requests. All nodes must answer.
        - @ref errc::quarantined : a node does not vote, and the set is not new. Another node has a record already, or
          the node has restarted. `attempt_report::quarantine` says how long until a majority votes.
        - @ref errc::unsupported : the manager only reads (`manager_options::read_only`). Nothing was sent.
        - `asio::error::operation_aborted` : the call was cancelled, or the manager was stopped, or this process is a
          fork of the one that made the manager.

        @par Cancellation
        Terminal and partial: completes at once; nodes may have been founded. Total: the same until the call founds the
        nodes, and ignored from then on.

        @par Lifetime
        The manager may be destroyed meanwhile, which aborts the call.

        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_found(CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& state, detail::found_handler handler) {
            locks::start_found(state, std::move(handler));
        };
        return initiate<CompletionToken, detail::found_handler, error_code, attempt_report>(start, token);
    }

    /** Stops the manager.

        - It grants no new locks, and aborts waiting operations.
        - It tells holders to stop: it completes @ref basic_lock::async_wait_lost, and cancels the bodies of
          @ref with_lock.
        - It cleans up the keys that are left behind, and closes the connections.

        The manager keeps a lock until its holder has let go of it. With a body: until the body has ended, with renewal
        if the lock renews. With a handle: until it was released or destroyed, or has expired; it is not renewed any
        more. So destroy your handles before you wait for this call.

        After that, the shutdown takes at most `manager_options::connect_timeout` plus the longest timeout of a node
        (`manager_options::node_timeout`, or `node_limits::timeout` if that is longer). On nodes that it cannot reach by
        then, keys stay until their ttl is over. That is no error: the log and the observer tell.

        @par Completes
        when the connections are closed. A second call waits for the same end; after it, a call completes at once.

        @par Completion signature
        `void(error_code)`

        @par Errors
        - @ref errc::keys_left : some keys could not be released in time. Only with
          `shutdown_options::keys_left_is_error`.
        - `asio::error::operation_aborted` : the call was cancelled. The shutdown goes on.

        @par Cancellation
        All types: completes at once.

        @par Lifetime
        The manager may be destroyed meanwhile; the shutdown goes on, and the call completes as usual.

        @param options See @ref shutdown_options.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_shutdown(shutdown_options options, CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& state, shutdown_options how, detail::error_handler handler) {
            locks::start_shutdown(state, how, std::move(handler));
        };
        return initiate<CompletionToken, detail::error_handler, error_code>(start, token, options);
    }

    /// Stops the manager with default options: keys that could not be released in time are no error.
    template <asio::completion_token_for<void(error_code)> CompletionToken>
    auto async_shutdown(CompletionToken&& token)
    {
        return async_shutdown<CompletionToken>(shutdown_options(), std::forward<CompletionToken>(token));
    }

    /// Stops the manager with default options and the default token.
    auto async_shutdown() { return async_shutdown(shutdown_options()); }

    /// The counters, histograms and present load. May be called from any thread, also while the execution context is
    /// destroyed. It copies up to 6 KB for each histogram, and blocks nobody.
    redlock::stats stats() const { return locks::stats_of(*state_); }

private:
    friend detail::access;
    explicit basic_lock_manager(std::shared_ptr<locks::manager_state> e) noexcept : state_(std::move(e)) {}

    template <class CompletionToken>
    auto acquire(detail::selection selected, acquire_options options, std::remove_reference_t<CompletionToken>& token)
    {
        constexpr bool explains = detail::throws<std::decay_t<CompletionToken>>;
        auto start = [](auto const& state, detail::selection what, detail::call_options how,
                        detail::acquire_handler handler) {
            locks::start_acquire(state, std::move(what), std::move(how), std::move(handler), explains);
        };
        using error = std::conditional_t<explains, detail::thrown_error, error_code>;
        return initiate<CompletionToken, detail::acquire_handler, error, lock_type>(start, token, std::move(selected),
                                                                                    detail::call_options(options));
    }

    template <class CompletionToken, class Completion, class... Results, class Start, class... Args>
    auto initiate(Start start, std::remove_reference_t<CompletionToken>& token, Args&&... args)
    {
        return detail::initiate<void(Results...)>::template on<Completion, CompletionToken>(
            state_, start, token, std::forward<Args>(args)...);
    }

    std::shared_ptr<locks::manager_state> state_;
};

/// The manager with the type-erased executor: the one to begin with.
using lock_manager = basic_lock_manager<asio::any_io_executor>;

}  // namespace redlock
