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
#include <boost/asio/default_completion_token.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace redlock {

namespace detail {

REDLOCK_API std::shared_ptr<scope_state> make_scope(std::shared_ptr<manager_state>);

}  // namespace detail

/** One owner of locks, a request or a job, whose parts may ask for the same lock again: **neither handles of one lock nor branches of
    one scope exclude each other.**

    Whoever has the scope is that owner: it is passed along, and never found by thread or coroutine. A copy is the same scope. It
    knows which locks were acquired in it, and keeps none: a lock is given back with the last of its handles, those of @ref
    lock::share included, wherever they were moved; then the scope does not hold it any more. The scope's own end gives nothing back.

    @tparam Executor see @ref basic_lock_manager. `lock_scope` is what everybody else needs.

    @par Lifetime
    The manager may be destroyed or moved meanwhile; handles and operations outlive the scope.

    @par Thread safety
    Safe on distinct and on shared objects, except for assigning.
*/
template <class Executor>
class basic_lock_scope {
public:
    using executor_type = Executor;
    using lock_type = basic_lock<Executor>;
    using default_completion_token = asio::default_completion_token_t<Executor>;

    /// The same with another executor type.
    template <class Other>
    struct rebind_executor {
        using other = basic_lock_scope<Other>;
    };

    /// A new owner, which holds nothing.
    explicit basic_lock_scope(basic_lock_manager<Executor>& locks)
        : source_(detail::access::state_of(locks), detail::make_scope(detail::access::state_of(locks)))
    {
    }

    basic_lock_scope(basic_lock_scope const&) = default;
    basic_lock_scope& operator=(basic_lock_scope const&) = default;

    /// The same owner, with another executor type.
    template <class Other>
    basic_lock_scope(basic_lock_scope<Other> const& other) : source_(other.source_)
    {
    }

    /// Of a manager whose execution context has gone, the type-erased executor only.
    executor_type get_executor() const { return detail::executor_as<Executor>(detail::executor_of(source_.manager)); }

    /** Acquires @p resources, or what the scope does not hold of them yet.

        | the scope holds | then                                                                                              |
        |-----------------|---------------------------------------------------------------------------------------------------|
        | none of them    | as @ref lock_manager::async_acquire, but see *The order* below                                    |
        | all of them     | one more handle, at once: no node is asked, unless too little of the validity is left             |
        | some of them    | the rest is acquired, and the handle is on more than one lock                                     |
        | one that is lost | that is not held: it is acquired anew, when the handles on the lost one are gone or its time is over |

        `lock::resources` are those that were asked for. A handle on more than one lock is held as long as each of them is, and valid as long as the
        one that ends first; it extends and releases each of them, and is lost when one is. Its `lock::token` is that of one of them.
        A lock that is held exclusively is one for who asks for @ref mode::shared, too, and stays exclusive.

        **How long it lasts.** `lock::valid_until` is not less than that of a lock which is acquired now with the same ttl; a lock that is
        held is extended before, if less is left of it. With @ref renewal::automatic it is renewed from then on, whoever acquired it, until
        its last handle is gone; and if it was renewed before for as long a ttl, half of that is enough. `acquire_options::max_hold` is
        that of the call which acquired the lock, for all its handles.

        **The order.** Two owners deadlock if each waits for a lock that the other holds. So an acquisition that waits
        must ask for names that come after all names that the scope holds, in the order of their bytes. Otherwise it is
        refused, unless `acquire_options::wait` is zero: an acquisition that does not wait cannot deadlock. With this
        order scopes deadlock neither with each other nor with @ref lock_manager::async_acquire of several names. A
        scope does not know locks that were acquired outside of it.

        **Branches** of one scope that ask for locks which the scope does not hold yet take turns, in the order of their
        calls. The `wait` of each begins when its turn has come. If two branches ask for the same lock, the second gets
        a handle on it. Use a scope for each piece of work if they must not wait for each other.

        @par Completes
        As @ref lock_manager::async_acquire.

        @par Completion signature
        `void(error_code, lock)`

        @par Errors
        Those of @ref lock_manager::async_acquire, and
        - @ref errc::invalid_argument : it would deadlock, for its order, or because the scope shares what is wanted exclusively; or with
          `config::fencing` the handle would be on several locks, of which each has a fencing token of its own. Nothing was sent. The
          message names the resource and the way out.
        - @ref errc::lost : what the scope held of it was lost before it could be extended. Stop the work.
        - @ref errc::no_quorum : also, too few nodes answered to extend it, for all of `acquire_options::wait`.

        @par Cancellation
        | progress                          | total                       | partial, terminal                                             |
        |-----------------------------------|-----------------------------|---------------------------------------------------------------|
        | its turn has not come             | aborted at once             | aborted at once                                               |
        | the rest is being acquired        | as @ref lock_manager::async_acquire | as @ref lock_manager::async_acquire                   |
        | what is held is being extended    | ignored                     | aborted at once; the servers may have extended it all the same |
        | won, handler queued               | completes with lock         | completes with lock                                           |

        @par Lifetime
        @p resources are copied; `acquire_options::report` must live until completion.
    */
    template <class CompletionToken = default_completion_token>
    auto async_acquire(resource_set resources, acquire_options options, CompletionToken&& token = default_completion_token()) const
    {
        constexpr bool explains = detail::throws<std::decay_t<CompletionToken>>;
        auto start = [](auto const& scope, resource_set names, acquire_options how, detail::acquire_handler handler) {
            detail::start_acquire_in_scope(scope, std::move(names), how, std::move(handler), explains);
        };
        using error = std::conditional_t<explains, detail::reported_error, error_code>;
        return detail::initiate<void(error, lock_type)>::template on<detail::acquire_handler, CompletionToken>(
            source_.scope, start, token, std::move(resources), options);
    }

    /// The same, with default options: one round, for ten seconds.
    template <asio::completion_token_for<void(error_code, lock_type)> CompletionToken>
    auto async_acquire(resource_set resources, CompletionToken&& token) const
    {
        return async_acquire<CompletionToken>(std::move(resources), acquire_options(), std::forward<CompletionToken>(token));
    }
    auto async_acquire(resource_set resources) const { return async_acquire(std::move(resources), acquire_options()); }

    /// As @ref lock_manager::with_lock, in this scope: @p body may ask it for the same again.
    template <class F>
    auto with_lock(resource_set resources, acquire_options options, F body) const
    {
        static_assert(lock_body<F, lock_type>, "the body takes lock& and returns an asio::awaitable");
        return detail::await_body<lock_type>(source_, std::move(resources), options, std::move(body));
    }
    template <lock_body<lock_type> F>
    auto with_lock(resource_set resources, F body) const
    {
        return with_lock(std::move(resources), acquire_options(), std::move(body));
    }

    /// The same for any completion token.
    template <lock_body<lock_type> F, asio::completion_token_for<detail::body_signature<F, lock_type>> CompletionToken>
    auto with_lock(resource_set resources, acquire_options options, F body, CompletionToken&& token) const
    {
        return detail::run_body_under_lock<lock_type, CompletionToken>(source_, std::move(resources), options, std::move(body), token);
    }
    template <lock_body<lock_type> F, asio::completion_token_for<detail::body_signature<F, lock_type>> CompletionToken>
    auto with_lock(resource_set resources, F body, CompletionToken&& token) const
    {
        return with_lock(std::move(resources), acquire_options(), std::move(body), std::forward<CompletionToken>(token));
    }

private:
    template <class Other>
    friend class basic_lock_scope;

    detail::lock_source source_;
};

using lock_scope = basic_lock_scope<asio::any_io_executor>;

}  // namespace redlock
