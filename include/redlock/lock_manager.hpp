#pragma once

#include <redlock/config.hpp>
#include <redlock/detail/api.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/node.hpp>
#include <redlock/options.hpp>
#include <redlock/report.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace redlock {

namespace detail {

class engine;
using acquire_handler = completion<void(error_code, lock)>;
using inspect_handler = completion<void(error_code, lock_info)>;

REDLOCK_API asio::any_io_executor executor_of(std::shared_ptr<engine> const&) noexcept;
REDLOCK_API void start_acquire(std::shared_ptr<engine>, std::string resource, acquire_options, acquire_handler);
REDLOCK_API void start_inspect(std::shared_ptr<engine>, std::string resource, inspect_handler);
REDLOCK_API void start_shutdown(std::shared_ptr<engine>, error_handler);
// What to tell a person about an error of async_acquire.
REDLOCK_API std::string explain(engine const&, std::string const& resource, acquire_options const&, error_code);

template <class Signature, class Start>
struct initiate_on_engine {
    std::shared_ptr<detail::engine> engine;
    Start start;

    using executor_type = asio::any_io_executor;
    executor_type get_executor() const noexcept { return executor_of(engine); }

    template <class Handler, class... Args>
    void operator()(Handler&& handler, Args&&... args) const
    {
        start(engine, std::forward<Args>(args)...,
              completion<Signature>(std::decay_t<Handler>(std::forward<Handler>(handler)), get_executor()));
    }
};

template <class Signature, class Start, class CompletionToken, class... Args>
auto initiate(std::shared_ptr<engine> const& e, Start start, CompletionToken& token, Args... args)
{
    return asio::async_initiate<CompletionToken, Signature>(initiate_on_engine<Signature, Start>{e, start}, token,
                                                            std::move(args)...);
}

template <class CompletionToken>
auto acquire(std::shared_ptr<engine> const& e, std::string resource, acquire_options options, CompletionToken& token)
{
    auto start = [](auto const& on, std::string name, acquire_options how, acquire_handler handler) {
        start_acquire(on, std::move(name), how, std::move(handler));
    };
    return initiate<void(error_code, lock)>(e, start, token, std::move(resource), options);
}

}  // namespace detail

/** Acquires locks on a majority of lock servers.

    Make one per process and set of servers and share it. It connects on first use. Open connections are
    outstanding work: `io_context::run` returns after `async_shutdown`, or after the manager was destroyed.

    Everything it does by itself, such as renewal and clean-up, runs on a strand of its executor. Handlers
    are posted to their associated executor, by default the manager's. A handler that blocks every thread
    of that executor also blocks renewal: give the manager an executor of its own if handlers may block.

    Destroying the manager stops it: waiting operations complete with `asio::error::operation_aborted`, held
    locks are released in the background, and handles that are left become empty of effect.

    @par Thread safety
    Safe on distinct and on shared objects.
*/
class REDLOCK_API lock_manager {
public:
    using executor_type = asio::any_io_executor;

    /// @throws std::invalid_argument naming the field, the value and the limit, if @p settings is broken.
    lock_manager(asio::any_io_executor executor, config settings);

    /// Locks on other nodes than `config::nodes` can name, which must then be empty.
    lock_manager(asio::any_io_executor executor, config settings, std::vector<std::shared_ptr<node>> nodes);

    /// For an `io_context` or a `thread_pool`.
    template <class ExecutionContext>
        requires std::is_convertible_v<ExecutionContext&, asio::execution_context&>
    lock_manager(ExecutionContext& context, config settings)
        : lock_manager(asio::any_io_executor(context.get_executor()), std::move(settings))
    {
    }

    /// For the library's own tests.
    explicit lock_manager(std::shared_ptr<detail::engine>);

    lock_manager(lock_manager const&) = delete;
    lock_manager& operator=(lock_manager const&) = delete;
    ~lock_manager();

    executor_type get_executor() const noexcept { return detail::executor_of(engine_); }

    /** Acquires @p resource on a majority of the nodes.

        All nodes are asked at once; the round is decided at the majority. A lost round is cleaned up in the
        background, and followed by another after a jittered, growing pause until `acquire_options::wait` is
        over. Of the acquisitions of one resource that may wait, one at a time asks the nodes; the others of
        this manager queue up behind it in the order of their calls.

        @par Completes
        - with a lock that is valid until @ref lock::valid_until;
        - with an error and an empty lock otherwise.

        @par Completion signature
        `void(error_code, lock)`

        @par Errors
        - @ref errc::contended : somebody else held it all along. Wait longer or give way.
        - @ref errc::no_quorum : too few nodes answered. Look at the nodes, not at the lock.
        - @ref errc::validity_exhausted : the majority came too late. Use a longer ttl, or find what is slow.
        - @ref errc::invalid_argument : @p resource or an option is out of range; nothing was sent.
        - `asio::error::operation_aborted` : cancelled, or the manager was stopped.

        @par Cancellation
        | progress                   | total               | partial, terminal                                |
        |----------------------------|---------------------|--------------------------------------------------|
        | queued, or between rounds  | aborted at once     | aborted at once                                  |
        | requests in flight         | ignored             | aborted at once; clean-up goes on in the manager |
        | won, handler queued        | completes with lock | completes with lock                              |

        @par Lifetime
        @p resource is copied; `acquire_options::report` must live until completion.

        @param resource 1 to 512 bytes. The same bytes mean the same lock on every client, in every language.
        @param options See @ref acquire_options.
        @param token Any completion token.
    */
    template <class CompletionToken = asio::deferred_t>
    auto async_acquire(std::string resource, acquire_options options, CompletionToken&& token = {})
    {
        return detail::acquire(engine_, std::move(resource), options, token);
    }

    /** Holds @p resource while @p body runs, and gives it back on every path.

        @p body is called with the lock and runs on a strand of the caller's executor. It is cancelled (all types; a
        coroutine takes note of terminal cancellation) when the lock is lost, before its validity is over. The
        lock stays with the operation: @p body may extend it, but neither releases it nor moves it away.

        @return what @p body returns
        @throws system_error with the error of @ref async_acquire, or with @ref errc::lost if the lock was lost
        before @p body had ended, whether it returned or was cancelled
        @throws whatever else @p body throws

        @par Cancellation
        Terminal: cancels the acquisition or @p body; the release then goes on in the background.

        @par Lifetime
        @p resource is copied. The manager may be destroyed meanwhile, which cancels @p body.

        @param body `awaitable<T>(lock&)`; it is moved into the operation.
    */
    template <class F>
    std::invoke_result_t<F&, lock&> with_lock(std::string resource, acquire_options options, F body);

    /** Asks all nodes who holds @p resource. For people and dashboards, not for decisions.

        @par Completion signature
        `void(error_code, lock_info)`

        @par Errors
        - @ref errc::no_quorum : too few nodes answered; what is known is in `lock_info::nodes`.
        - @ref errc::invalid_argument : @p resource is empty or too long.
        - `asio::error::operation_aborted` : cancelled, or the manager was stopped.

        @par Cancellation
        All types: completes at once.
    */
    template <class CompletionToken = asio::deferred_t>
    auto async_inspect(std::string resource, CompletionToken&& token = {})
    {
        auto start = [](auto const& engine, std::string name, detail::inspect_handler handler) {
            detail::start_inspect(engine, std::move(name), std::move(handler));
        };
        return detail::initiate<void(error_code, lock_info)>(engine_, start, token, std::move(resource));
    }

    /** Stops the manager: no new locks, waiting operations are aborted, held locks are released, what is left
        behind is cleaned up, connections are closed.

        Takes at most `config::connect_timeout` + `config::node_timeout`; on nodes that cannot be reached by then
        keys stay until their ttl is over. Calling it again waits for the same end.

        @par Completion signature
        `void(error_code)`

        @par Errors
        - @ref errc::no_quorum : some keys could not be released in time; they expire with their ttl.
        - `asio::error::operation_aborted` : cancelled. The shutdown goes on.
    */
    template <class CompletionToken = asio::deferred_t>
    auto async_shutdown(CompletionToken&& token = {})
    {
        auto start = [](auto const& engine, detail::error_handler handler) {
            detail::start_shutdown(engine, std::move(handler));
        };
        return detail::initiate<void(error_code)>(engine_, start, token);
    }

    /// Counters and the present load.
    redlock::stats stats() const;

private:
    std::shared_ptr<detail::engine> engine_;
};

}  // namespace redlock

#include <redlock/detail/with_lock.hpp>
