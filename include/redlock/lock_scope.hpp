#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/detail/body_run.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/lock_error.hpp>
#include <redlock/lock_manager.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_set.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace redlock::inline v1 {

namespace locks {
REDLOCK_API std::shared_ptr<scope_state> make_scope(std::shared_ptr<manager_state>);
}

/** One owner of re-entrant locks, such as a request or a job.

    Locks are re-entrant within a scope: its parts may ask for the same lock again. **Neither handles of one lock nor
    branches of one scope exclude each other.** Pass the scope down the call stack; it is never found by thread or
    coroutine. A copy is the same scope.

    The scope knows which locks were acquired in it, but does not keep them. A lock is released with the last of its
    handles (including those of @ref lock::share), wherever they were moved. Then the scope does not hold it any more.
    Destroying the scope releases nothing.

    @tparam Executor See @ref basic_lock_manager. If you need no default token, use `lock_scope`.

    @par Lifetime
    The manager may be destroyed or moved meanwhile. Handles and operations may live longer than the scope.

    @par Thread safety
    Safe on distinct and on shared objects, except for assigning. No function waits for a server.
*/
template <class Executor>
class basic_lock_scope {
public:
    /// The executor of the caller's coroutines and I/O objects.
    using executor_type = Executor;

    /// The locks that are acquired in this scope.
    using lock_type = basic_lock<Executor>;

    /// The token of asynchronous functions that are called without one: that of the executor, or else `asio::deferred`.
    using default_completion_token = detail::default_token<Executor>;

    /// The scope type with another executor.
    template <class Other>
    struct rebind_executor {
        /// That scope type.
        using other = basic_lock_scope<Other>;
    };

    /// Makes a new owner, which holds nothing.
    /// @param locks The manager that acquires the locks of this scope.
    explicit basic_lock_scope(basic_lock_manager<Executor>& locks)
        : source_(detail::access::state_of(locks), locks::make_scope(detail::access::state_of(locks)))
    {
    }

    /// Makes one more object for the same owner.
    basic_lock_scope(basic_lock_scope const&) = default;

    /// Makes this an object for the other's owner.
    basic_lock_scope& operator=(basic_lock_scope const&) = default;

    /// Converts to the same owner, with another executor type.
    template <class Other>
    basic_lock_scope(basic_lock_scope<Other> const& other) : source_(other.source_)
    {
    }

    /// The manager's executor. After the execution context was destroyed, only `lock_scope` (the type-erased executor)
    /// may call this.
    /// @throws std::invalid_argument if the executor is of another type than the manager's
    executor_type get_executor() const { return detail::executor_as<Executor>(locks::executor_of(source_.manager)); }

    /** Tries once, or for as long as `acquire_options::wait` says, to acquire @p resources, or the part of them that
        the scope does not hold yet.

        - If the scope holds none of them: as @ref lock_manager::async_acquire, but in the order of names.
        - If it holds all of them: the call completes at once with one more handle. No node is asked, unless too little
          of the validity is left.
        - If it holds some of them: the rest is acquired. The handle is on more than one lock.
        - A lock that is lost is not held. It is acquired anew, when the handles on the lost one are gone or its time is
          over.

        `lock::resources` are the names in @p resources. A handle on more than one lock is held as long as each of them
        is, and valid as long as the one that ends first. It extends and releases each of them, and is lost when one of
        them is. Its `lock::token` is that of one of them. If the scope holds a lock exclusively, a request for
        @ref mode::shared gets a handle on it, which stays exclusive.

        **Validity.** `lock::valid_until` is at least that of a lock which is acquired now with the same ttl. If less is
        left of a lock that is held, it is extended first. If it was renewed before, for a ttl at least as long, half of
        that is enough. With @ref renewal::automatic the lock is renewed from then on until its last handle is gone,
        whichever call acquired it. For all its handles, `acquire_options::max_hold` is that of the call that acquired
        the lock.

        **Order.** Two owners deadlock if each waits for a lock that the other holds. So an acquisition that waits must
        ask for names that come after all names that the scope holds, in the order of their bytes. Otherwise it is
        refused. If `acquire_options::wait` is zero, it does not wait, cannot deadlock, and is not refused. With this
        order, scopes do not deadlock with each other, nor with a @ref lock_manager::async_acquire of several names. A
        scope does not know locks that were acquired outside of it.

        **Branches**: if several branches of a scope ask for locks that the scope does not hold, they take turns, in
        the order of their calls. The `wait` of each begins when its turn has come. If two branches ask for the same
        lock, the second gets a handle on it. If pieces of work must not wait for each other, use a scope for each.

        @par Completes
        - with a lock that is valid until @ref lock::valid_until;
        - with an error and an empty lock otherwise.

        @par Completion signature
        `void(error_code, lock)`

        @par Errors
        Those of @ref lock_manager::async_acquire, and
        - @ref errc::invalid_argument : it would deadlock: because of the order, or because the scope shares a lock that
          is now wanted exclusively. Or `manager_options::fencing` is on, and the names belong to several locks: one
          handle cannot have several fencing tokens. Nothing was sent. The message names the resource and the way out.
        - @ref errc::lost : a lock that the scope held was lost before it could be extended. Stop the work.
        - @ref errc::no_quorum : also if a lock had to be extended, and too few nodes answered during all of
          `acquire_options::wait`.

        @par Cancellation
        - Its turn has not come: all types abort at once.
        - The rest is being acquired: as @ref lock_manager::async_acquire.
        - A held lock is being extended: total is ignored. Partial and terminal abort at once; the servers may have
          extended the lock nevertheless.
        - Won, and the handler is queued: completes with the lock.

        @par Lifetime
        The arguments are copied, with what the options name, before the call returns.

        @param resources 1 to 256 names, as for @ref lock_manager::async_acquire.
        @param options See @ref acquire_options.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_acquire(resource_set resources, acquire_options options,
                       CompletionToken&& token = default_completion_token()) const
    {
        return acquire<CompletionToken>(std::move(resources), options, token);
    }

    /// Tries once with default options, as @ref async_try_acquire : for a ttl of ten seconds.
    template <asio::completion_token_for<void(error_code, lock_type)> CompletionToken>
    auto async_acquire(resource_set resources, CompletionToken&& token) const
    {
        return async_acquire<CompletionToken>(std::move(resources), acquire_options(),
                                              std::forward<CompletionToken>(token));
    }

    /// Tries once with default options and the default token.
    auto async_acquire(resource_set resources) const { return async_acquire(std::move(resources), acquire_options()); }

    /** Tries once to acquire @p resources in this scope: @ref async_acquire without `acquire_options::wait`.

        Completion, errors, cancellation and lifetime are those of @ref async_acquire , except:
        - @ref errc::invalid_argument : also if `acquire_options::wait` is not zero. Nothing was sent.

        @param resources 1 to 256 names, as for @ref lock_manager::async_acquire.
        @param options See @ref acquire_options.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_try_acquire(resource_set resources, acquire_options options,
                           CompletionToken&& token = default_completion_token()) const
    {
        return acquire<CompletionToken>(detail::selection(std::move(resources)).tried_once(), options, token);
    }

    /// Tries once with default options: for a ttl of ten seconds.
    template <asio::completion_token_for<void(error_code, lock_type)> CompletionToken>
    auto async_try_acquire(resource_set resources, CompletionToken&& token) const
    {
        return async_try_acquire<CompletionToken>(std::move(resources), acquire_options(),
                                                  std::forward<CompletionToken>(token));
    }

    /// Tries once with default options and the default token.
    auto async_try_acquire(resource_set resources) const
    {
        return async_try_acquire(std::move(resources), acquire_options());
    }

    /** Runs @p body while holding @p resources in this scope; without `acquire_options::wait`, it tries once to acquire
        them. @p body may ask the scope for the same lock again.

        The lock is acquired as by @ref async_acquire , with its errors. Completion, renewal, other errors, cancellation
        and lifetime are those of @ref lock_manager::with_lock. If the scope held the lock before, its renewal goes on
        after @p body, until the last handle is gone.

        @param resources 1 to 256 names, as for @ref lock_manager::async_acquire.
        @param options See @ref acquire_options.
        @param body See @ref lock_body; it is moved or copied into the operation.
    */
    template <class F>
    auto with_lock(resource_set resources, acquire_options options, F&& body) const
    {
        static_assert(lock_body<F, lock_type>, "the body takes lock& and returns an asio::awaitable");
        return detail::await_body<lock_type>(source_, std::move(resources), options, std::forward<F>(body));
    }

    /// Runs @p body with default options: tries once to acquire, for a ttl of ten seconds, which the manager renews.
    template <lock_body<lock_type> F>
    auto with_lock(resource_set resources, F&& body) const
    {
        return with_lock(std::move(resources), acquire_options(), std::forward<F>(body));
    }

    /// Runs @p body while holding @p resources in this scope, for any completion token: see
    /// `lock_manager::with_lock` with a token.
    template <lock_body<lock_type> F, asio::completion_token_for<detail::body_signature<F, lock_type>> CompletionToken>
    auto with_lock(resource_set resources, acquire_options options, F&& body, CompletionToken&& token) const
    {
        return detail::run_body_under_lock<lock_type, CompletionToken>(source_, std::move(resources), options,
                                                                       std::forward<F>(body), token);
    }

    /// Runs @p body with default options, for any completion token.
    template <lock_body<lock_type> F, asio::completion_token_for<detail::body_signature<F, lock_type>> CompletionToken>
    auto with_lock(resource_set resources, F&& body, CompletionToken&& token) const
    {
        return with_lock(std::move(resources), acquire_options(), std::forward<F>(body),
                         std::forward<CompletionToken>(token));
    }

    REDLOCK_WARN_OF_TEMPORARY_BODIES(with_lock, const, source_, std::move(resources))

private:
    template <class Other>
    friend class basic_lock_scope;

    template <class CompletionToken>
    auto acquire(detail::selection selected, acquire_options options,
                 std::remove_reference_t<CompletionToken>& token) const
    {
        constexpr bool explains = detail::throws<std::decay_t<CompletionToken>>;
        auto start = [](auto const& scope, detail::selection what, detail::call_options how,
                        detail::acquire_handler handler) {
            locks::start_acquire_in_scope(scope, std::move(what), std::move(how), std::move(handler), explains);
        };
        using error = std::conditional_t<explains, detail::thrown_error, error_code>;
        return detail::initiate<void(error, lock_type)>::template on<detail::acquire_handler, CompletionToken>(
            source_.scope, start, token, std::move(selected), detail::call_options(options));
    }

    detail::lock_source source_;
};

/// The scope of a @ref lock_manager : with the type-erased executor.
using lock_scope = basic_lock_scope<asio::any_io_executor>;

}  // namespace redlock
