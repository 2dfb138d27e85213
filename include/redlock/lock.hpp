#pragma once

#include <redlock/clock.hpp>
#include <redlock/detail/api.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/error.hpp>
#include <redlock/lock_error.hpp>
#include <redlock/lock_ticket.hpp>
#include <redlock/mode.hpp>
#include <redlock/report.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace redlock::inline v1 {

namespace asio = boost::asio;

namespace detail {

using error_handler = completion<void(error_code)>;
using mode_handler = completion<void(reported_error)>;

struct access;

}  // namespace detail

namespace locks {

REDLOCK_API void start_extend(std::shared_ptr<handle_state>, std::chrono::milliseconds ttl, detail::error_handler);
REDLOCK_API void start_upgrade(std::shared_ptr<handle_state>, std::chrono::milliseconds wait, detail::mode_handler);
REDLOCK_API void start_downgrade(std::shared_ptr<handle_state>, detail::mode_handler);
REDLOCK_API void start_release(std::shared_ptr<handle_state>, detail::error_handler);
REDLOCK_API void start_wait_lost(std::shared_ptr<handle_state>, detail::error_handler);
REDLOCK_API std::shared_ptr<handle_state> another_handle(std::shared_ptr<handle_state> const&);
REDLOCK_API lock_ticket detach(std::shared_ptr<handle_state> const&, error_code&);

}  // namespace locks

/** The part of a lock without operations; see @ref basic_lock.

    @par Thread safety
    The const functions and the destructor may be called from any thread. They never block or throw. Moving and
    assigning need the usual synchronization.
*/
class REDLOCK_API lock_handle {
public:
    /// Makes an empty handle, which holds nothing.
    lock_handle() noexcept = default;

    /// Moves the lock; the other handle is empty afterwards.
    lock_handle(lock_handle&&) noexcept = default;

    /// Releases this handle's lock in the background, and moves the other one here.
    lock_handle& operator=(lock_handle&& other) noexcept;

    /// Releases the lock in the background, without waiting. If memory is short, its keys stay until their ttl is over.
    ~lock_handle();

    /// True if there is no lock: it was never acquired, or was moved from. A lock that was released, lost or has
    /// expired is not empty.
    bool empty() const noexcept { return !state_; }

    /** True while the lock is held, as far as this process knows: not released, not lost, and still valid. False in a
        fork of the process that acquired it.

        Each call reads the clock. The answer may still be outdated when you use it: the process may be paused in
        between. If two concurrent writers would corrupt the resource, use fencing tokens, see docs/guarantees.md.
    */
    bool held() const noexcept;

    /// The same as @ref held.
    explicit operator bool() const noexcept { return held(); }

    /// The time from which on servers may forget the lock. It is the earlier of two: the end of
    /// `acquire_options::max_hold`, and
    ///
    ///     start of the acquisition or of the last extension + ttl - (ttl * drift_factor + 2 ms)
    ///
    /// If the nodes promise less than the ttl (@ref node_reply::good_for), the formula uses their promise. The lock
    /// counts as lost a little earlier: see @ref basic_lock::async_wait_lost. For an empty lock: the clock's epoch.
    clock::time_point valid_until() const noexcept;

    /// The time left until @ref valid_until, zero or more. Zero: the lock is not held.
    clock::duration remaining() const noexcept;

    /// The name that was locked; of several names, the first. Empty if the lock is empty.
    std::string const& resource() const noexcept;

    /// All names that were locked, sorted by their bytes, each once. Valid until the handle becomes empty or is
    /// assigned to.
    std::span<std::string const> resources() const noexcept;

    /// The present mode; exclusive for an empty lock. An upgrade changes shared to exclusive, a downgrade changes it
    /// back.
    redlock::mode mode() const noexcept;

    /// The lock's secret value on the servers: 128 random bits in hexadecimal, ':', the owner's label, the start of the
    /// hold, and the note. It has at most 510 bytes. An exclusive lock's key holds it; the tokens of readers are in a
    /// list beside the key. Anybody who knows the token can release the lock, so do not log it.
    std::string const& token() const noexcept;

    /** The fencing token: a number below 2^53 that increases with every acquisition of the resource by any client.
        Renewal and release keep it. Pass it to the resource that the lock protects. The resource must refuse smaller
        numbers: docs/fencing.md.

        - A lock on several resources has one number, larger than every earlier number of each of these resources.
        - A reader gets the latest number. It is not smaller than the number of any writer before, and smaller than that
          of any writer afterwards. Other readers may have the same number.
        - Zero: `manager_options::fencing` is off, or the lock is empty, or it was resumed from a ticket without a
          number. */
    std::uint64_t fencing_token() const noexcept;

    /// The report of the acquisition that has returned this handle, which may be empty. It does not change afterwards.
    /// Null: `acquire_options::explain` was false, or the handle is of another origin. If memory ran out, the report
    /// says only that.
    std::shared_ptr<attempt_report const> report() const noexcept { return report_; }

private:
    friend detail::access;
    explicit lock_handle(std::shared_ptr<locks::handle_state> s) noexcept : state_(std::move(s)) {}

    std::shared_ptr<locks::handle_state> state_;
    std::shared_ptr<attempt_report const> report_;
};

namespace detail {

// The library's own access to its handles; for nothing else.
struct access {
    static lock_handle make_handle(std::shared_ptr<locks::handle_state> s) noexcept
    {
        return lock_handle(std::move(s));
    }
    static std::shared_ptr<locks::handle_state> const& handle_of(lock_handle const& l) noexcept { return l.state_; }
    static std::shared_ptr<attempt_report const>& report_of(lock_handle& l) noexcept { return l.report_; }

    template <class Manager>
    static Manager make_manager(std::shared_ptr<locks::manager_state> e)
    {
        return Manager(std::move(e));
    }
    template <class Manager>
    static std::shared_ptr<locks::manager_state>& state_of(Manager& m) noexcept
    {
        return m.state_;
    }
};

}  // namespace detail

/** A lock that is held. Move-only; empty when default-constructed or moved from.

    The base class `lock_handle` has the functions that do not ask a node.

    Destroying a lock, or assigning to it, releases it in the background, without waiting. (If there are other handles
    on it, they keep it: see @ref share.) A lock may live longer than its manager: it then stays valid as long as it
    would without renewal.

    @par Lifetime
    The handle may be moved or destroyed while its operations run. If it is destroyed, they end as those of a released
    lock. When the execution context is destroyed, handlers of pending operations are destroyed without a call. From
    then on, and in a fork of the process, operations end as those of an empty lock.

    @par Handlers
    Handlers without an associated executor run on the manager's executor. An empty lock has no executor: its operations
    call such a handler before they return.

    @tparam Executor The manager's executor, which determines the default completion token. If you need no default
    token, use `lock`.

    @par Thread safety
    All functions and the destructor may be called from any thread. Operations may run, and the execution context may be
    destroyed meanwhile. None blocks. Moving and assigning need the usual synchronization.
*/
template <class Executor>
class [[nodiscard]] basic_lock : public lock_handle {
public:
    /// The executor of the caller's coroutines and I/O objects.
    using executor_type = Executor;

    /// The token of asynchronous functions that are called without one: that of the executor, or else `asio::deferred`.
    using default_completion_token = detail::default_token<Executor>;

    /// The lock type with another default completion token.
    template <class Other>
    struct rebind_executor {
        /// That lock type.
        using other = basic_lock<Other>;
    };

    /// Makes an empty lock, which holds nothing.
    basic_lock() noexcept = default;

    /// Moves the lock; the other handle is empty afterwards.
    basic_lock(basic_lock&&) noexcept = default;

    /// Releases this handle's lock in the background, and moves the other one here.
    basic_lock& operator=(basic_lock&&) noexcept = default;

    /// Converts from a lock with another default completion token.
    basic_lock(lock_handle&& other) noexcept : lock_handle(std::move(other)) {}

    /** Makes one more handle on this lock, for another part of the same work. Handles of one lock do not exclude each
        other.

        All handles have the same token, the same validity and the same loss; an extension counts for all. Each handle
        is released separately. A released handle is not @ref held any more, and its operations end: with
        @ref errc::not_held , or @ref async_wait_lost with `asio::error::operation_aborted`. The other handles keep the
        lock; releasing the last one releases it on the servers.

        No node is asked. May be called from any thread.

        @return an empty lock, if this one is empty or was released. If the lock was lost: a handle that is not held.
        @throws std::bad_alloc if memory is short
    */
    basic_lock share() const
    {
        return detail::access::make_handle(locks::another_handle(detail::access::handle_of(*this)));
    }

    /** Extends the lock: sets its time to live (TTL) on a majority of the nodes to @p ttl from now, but never shortens
        it.

        The lock is still lost when `acquire_options::max_hold` is over. The call takes at most
        `manager_options::node_timeout`, or a store's longer timeout. If the lock is upgraded or downgraded meanwhile,
        it asks the nodes once more.

        @par Completes
        - without an error: @ref valid_until has moved;
        - with an error: the lock is as valid as before, unless the error says otherwise.

        @par Completion signature
        `void(error_code)`

        @par Errors
        - @ref errc::lost : no majority of the nodes has the lock any more, or its validity was over. Stop the work.
        - @ref errc::no_quorum : too few nodes answered. Try again while the lock is valid.
        - @ref errc::not_held : the lock was released before it could be extended, or is empty.
        - @ref errc::invalid_argument : @p ttl is below 20 ms, above `manager_options::max_ttl` or not above
          `manager_options::node_timeout`. Nothing was sent.
        - `asio::error::operation_aborted` : the call was cancelled, or the manager's shutdown has completed.

        @par Cancellation
        Terminal and partial: completes at once. The servers may have extended the lock nevertheless. Total is ignored.

        @par Lifetime
        The handle may be moved or destroyed meanwhile. If it is destroyed, the call ends with @ref errc::not_held.

        @param ttl 20 ms to `manager_options::max_ttl`, and longer than `manager_options::node_timeout`.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_extend(std::chrono::milliseconds ttl, CompletionToken&& token = default_completion_token())
    {
        auto start = [ttl](auto const& handle, detail::error_handler handler) {
            locks::start_extend(handle, ttl, std::move(handler));
        };
        return initiate<CompletionToken>(start, token);
    }

    /** Upgrades a shared lock: the reader becomes the only holder. Nobody else holds the lock exclusively in between.

        A lock of @ref mode::shared tries once: two readers that waited for each other to leave would deadlock. Only a
        lock of @ref mode::upgradeable may wait. Afterwards @ref mode is exclusive, and renewals keep it so. With
        `manager_options::fencing` the lock has a new, higher @ref fencing_token. Its validity counts from the start of
        the upgrade, so @ref valid_until may become earlier.

        A lock can be upgraded once. After a downgrade, release it and acquire another one. If the handle is released,
        the call ends. Handles that have joined an @ref mode::upgradeable lock are upgradeable, too.

        @par Completes
        - without an error: nobody else holds the lock, in either mode;
        - with an error: the lock is shared as before, unless the error says otherwise. Some nodes may already refuse
          other readers: try again, downgrade the lock, or release it.

        @par Completion signature
        `void(error_code)`

        @par Errors
        - @ref errc::contended : other readers hold the lock, or it has several handles. (It also has them if readers of
          the same manager have joined it.)
        - @ref errc::lost : no majority of the nodes has the lock any more, or its validity was over. Stop the work.
        - @ref errc::no_quorum , @ref errc::quarantined , @ref errc::validity_exhausted : as for
          @ref lock_manager::async_acquire. They end the call even if @p wait is not over.
        - @ref errc::not_held : the lock was released before or meanwhile, or is empty.
        - @ref errc::invalid_argument : see the list of refusals. If the wait is wrong, the message of a
          @ref lock_error says why.
        - @ref errc::unsupported : a node cannot do it. Nothing was sent.
        - `asio::error::operation_aborted` : the call was cancelled, the lock was downgraded meanwhile, or the manager
          is being stopped.

        These upgrades are refused with @ref errc::invalid_argument :
        - The lock was not acquired shared, was upgraded before, is being upgraded, or was resumed.
        - The handle is on several locks of a `lock_scope`.
        - @p wait is negative, or it is not zero and the lock was acquired with @ref mode::shared. Acquire it with
          @ref mode::upgradeable , or do not wait.
        - Waiting could deadlock: the `lock_scope` of the handle holds a name that comes later in the order of names, or
          has acquired one meanwhile.

        @par Cancellation
        Terminal and partial: completes at once. Total: completes at once while the call waits; otherwise this round is
        the last. The lock is shared as before, but some nodes may already refuse other readers.

        @par Lifetime
        The handle may be moved or destroyed meanwhile. If it is destroyed, the call ends with @ref errc::not_held.

        @param wait How long to wait until the other readers have gone. Zero: try once. @ref wait_forever : until
        cancelled. No new readers are granted meanwhile. After the wait is over, new readers may be refused until the
        lock is over, and for one second more. Each other handle on the lock counts as another reader, also a handle of
        the same `lock_scope`. If you keep such a handle, do not wait: you would wait for yourself.
        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_upgrade(std::chrono::milliseconds wait, CompletionToken&& token = default_completion_token())
    {
        auto start = [wait](auto const& handle, detail::mode_handler handler) {
            locks::start_upgrade(handle, wait, std::move(handler));
        };
        using error =
            std::conditional_t<detail::throws<std::decay_t<CompletionToken>>, detail::thrown_error, error_code>;
        return detail::initiate<void(error)>::template on<detail::mode_handler, CompletionToken>(
            detail::access::handle_of(*this), start, token);
    }

    /// Upgrades a shared lock, with a wait of zero: one try.
    template <asio::completion_token_for<void(error_code)> CompletionToken = default_completion_token>
    auto async_upgrade(CompletionToken&& token = default_completion_token())
    {
        return async_upgrade<CompletionToken>(std::chrono::milliseconds(0), std::forward<CompletionToken>(token));
    }

    /** Downgrades an upgraded lock: it is shared again, and other readers can acquire it.

        The lock counts as shared from the call on, whatever the outcome: see @ref mode. It keeps its
        @ref fencing_token, its @ref valid_until, and its place: nobody holds the lock exclusively in between.

        @par Completes
        - without an error: a majority of the nodes grants the lock to other readers;
        - with an error: nodes may still refuse other readers, until you call this again or release the lock.

        @par Completion signature
        `void(error_code)`

        @par Errors
        - @ref errc::no_quorum : too few nodes answered. Try again.
        - @ref errc::lost : no majority of the nodes has the lock any more, or its validity was over. Stop the work.
        - @ref errc::not_held : the lock was released before, or is empty.
        - @ref errc::invalid_argument : the lock was not acquired shared, or the handle is on several locks of a
          `lock_scope`.
        - @ref errc::unsupported : a node cannot do it. Nothing was sent.
        - `asio::error::operation_aborted` : the call was cancelled, or the manager's shutdown has completed.

        @par Cancellation
        Terminal and partial: completes at once. The servers may have downgraded the lock nevertheless. Total is
        ignored.

        @par Lifetime
        The handle may be moved or destroyed meanwhile.

        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_downgrade(CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& handle, detail::mode_handler handler) {
            locks::start_downgrade(handle, std::move(handler));
        };
        return detail::initiate<void(error_code)>::template on<detail::mode_handler, CompletionToken>(
            detail::access::handle_of(*this), start, token);
    }

    /** Releases the lock: deletes its key on every node that may have it, if the key still has this lock's token.

        @ref held is false from the call on. The manager releases the nodes that have not confirmed in the background,
        until they confirm or the key must have expired. While the lock has other handles (@ref share), no node is
        asked.

        @par Completes
        when a majority of the nodes is free, or with an error; at once, while the lock has other handles

        @par Completion signature
        `void(error_code)`

        @par Errors
        - @ref errc::not_held : the lock was released before, was lost, has expired, or somebody else deleted its keys.
          The protected work may not have been alone.
        - @ref errc::no_quorum : too few nodes confirmed in time. The release goes on in the background.
        - `asio::error::operation_aborted` : the call was cancelled. The release goes on in the background.

        @par Cancellation
        Terminal and partial: completes at once. Total is ignored.

        @par Lifetime
        The handle may be moved or destroyed meanwhile.

        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_release(CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& handle, detail::error_handler handler) {
            locks::start_release(handle, std::move(handler));
        };
        return initiate<CompletionToken>(start, token);
    }

    /** Gives up the handle but keeps the lock: its keys stay on the servers until their TTL is over, without renewal.

        A process that has the ticket can resume the lock, or release it: `lock_manager::async_resume`,
        `lock_manager::async_release`.

        @ref held is false from the call on. Operations of this handle that are under way end as if it were released:
        with @ref errc::not_held , or @ref async_wait_lost with `asio::error::operation_aborted`. The manager's shutdown
        does not delete the keys. A lock that has several handles cannot be detached, because the last of them would
        release it. No node is asked. May be called from any thread.

        @return the ticket for another process; an empty one with an error. With an error, the handle keeps its state.

        @par Errors
        - @ref errc::not_held : the lock is empty, or was released before.
        - @ref errc::lost : the lock was lost, or its validity is over. Stop the work.
        - @ref errc::contended : the lock has several handles, also if readers of the same manager have joined it. Or it
          is a lock on several resources, and a node has not yet confirmed what the manager had to give back while it
          waited for them. Release the lock.
        - @ref errc::invalid_argument : the lock is @ref mode::upgradeable, or was upgraded; or it is a scope's handle
          on several locks, or on a part of one.
        - @ref errc::unsupported : the locks of a node end with the manager's session
          (`node_limits::ends_with_session`).

        @param ec Receives the error; none after success.

        @throws std::bad_alloc if memory is short; the handle keeps its state
    */
    lock_ticket detach(error_code& ec) { return locks::detach(detail::access::handle_of(*this), ec); }

    /// Gives up the handle but keeps the lock, and throws the error instead of returning it.
    /// @throws system_error with that error; the handle keeps its state
    lock_ticket detach()
    {
        error_code ec;
        auto ticket = detach(ec);
        if (ec)
            throw system_error(ec, "redlock: cannot detach the lock");
        return ticket;
    }

    /** Waits until the lock is lost. Any number of waits may be pending.

        @par Completes
        before @ref valid_until, from a timer that waits for no reply. The margin is min(max(ttl/20, 50 ms), ttl/5). It
        completes earlier if so many nodes deny the lock that no majority is left.

        @par Completion signature
        `void(error_code)`, never without an error

        @par Errors
        - @ref errc::lost : the lock was lost. Stop the work now.
        - @ref errc::not_held : the lock is empty.
        - `asio::error::operation_aborted` : the lock was released, the call was cancelled, or the manager is being
          stopped. In the last case the lock is still @ref held, but is not renewed any more: stop the work and release
          it. The manager's shutdown waits for that.

        @par Cancellation
        All types: completes at once, without an effect on the lock.

        @par Lifetime
        The handle may be moved or destroyed meanwhile. If it is destroyed, the call ends with
        `asio::error::operation_aborted`.

        @param token Any completion token.
    */
    template <class CompletionToken = default_completion_token>
    auto async_wait_lost(CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& handle, detail::error_handler handler) {
            locks::start_wait_lost(handle, std::move(handler));
        };
        return initiate<CompletionToken>(start, token);
    }

private:
    template <class CompletionToken, class Start>
    auto initiate(Start start, std::remove_reference_t<CompletionToken>& token)
    {
        return detail::initiate<void(error_code)>::template on<detail::error_handler, CompletionToken>(
            detail::access::handle_of(*this), start, token);
    }
};

/// The lock of a @ref lock_manager: with the type-erased executor.
using lock = basic_lock<asio::any_io_executor>;

}  // namespace redlock
