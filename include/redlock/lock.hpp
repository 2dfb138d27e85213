#pragma once

#include <redlock/clock.hpp>
#include <redlock/detail/api.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/error.hpp>
#include <redlock/lock_error.hpp>
#include <redlock/lock_ticket.hpp>
#include <redlock/mode.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/default_completion_token.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace redlock {

namespace asio = boost::asio;

namespace detail {

using error_handler = completion<void(error_code)>;
using mode_handler = completion<void(reported_error)>;

REDLOCK_API void start_extend(std::shared_ptr<stake>, std::chrono::milliseconds ttl, error_handler);
REDLOCK_API void start_upgrade(std::shared_ptr<stake>, std::chrono::milliseconds wait, mode_handler);
REDLOCK_API void start_downgrade(std::shared_ptr<stake>, mode_handler);
REDLOCK_API void start_release(std::shared_ptr<stake>, error_handler);
REDLOCK_API void start_wait_lost(std::shared_ptr<stake>, error_handler);
REDLOCK_API std::shared_ptr<stake> another(std::shared_ptr<stake> const&);
REDLOCK_API lock_ticket detach(std::shared_ptr<stake> const&, error_code&);

struct access;

}  // namespace detail

/// What a lock is apart from its operations; see @ref basic_lock.
class REDLOCK_API lock_handle {
public:
    lock_handle() noexcept = default;
    lock_handle(lock_handle&&) noexcept = default;
    lock_handle& operator=(lock_handle&& other) noexcept;
    ~lock_handle();

    /// Whether there is no lock: never acquired, or moved away. One that was released, was lost or has run out is not empty.
    bool empty() const noexcept { return !stake_; }

    /** Whether the lock is held, as far as this process knows: not released, not lost, validity not over. False in a fork of the
        process that acquired it.

        Read from the clock at each call. Even so the answer is old by the time it is used: what must never
        be touched by two needs fencing, see docs/guarantees.md.
    */
    bool held() const noexcept;

    /// The same as @ref held.
    explicit operator bool() const noexcept { return held(); }

    /// When the servers may begin to forget the lock: start of the acquisition or of the last extension
    /// + ttl - (ttl * drift_factor + 2 ms), but not after `acquire_options::max_hold`. The lock counts as lost a little earlier.
    /// The clock's epoch if empty.
    clock::time_point valid_until() const noexcept;

    /// Time left until @ref valid_until; zero if not held.
    clock::duration remaining() const noexcept;

    /// What was locked, the first of several. Empty if the lock is.
    std::string const& resource() const noexcept;

    /// All that was locked, in the order of their bytes, each once. It lives as long as the lock is not empty, or another.
    std::span<std::string const> resources() const noexcept;

    /// Whom it keeps out now; exclusive if empty. One that is shared becomes exclusive by an upgrade, and shared again by a downgrade.
    redlock::mode mode() const noexcept;

    /// The value of the keys on the servers, or, of one that is shared, in the list beside the key: 128 random bits in hexadecimal, ':', and the owner's label.
    /// Whoever knows it can release the lock, so it does not belong into logs.
    std::string const& token() const noexcept;

    /** A number that grows with every acquisition of the resource, by whomever; below 2^53. Renewal keeps it, and so does
        release. Give it to whatever the lock protects, and let that refuse smaller ones: docs/fencing.md. Of several resources it is
        one number, which grows for each of them. Who shares the lock gets the number that is the latest: not smaller than that of anybody
        who had it alone before, and smaller than that of whoever has it alone later; others who share it may have the same. 0: `config::fencing` is off, or the lock is empty, or the ticket that it was resumed from had none. */
    std::uint64_t fencing_token() const noexcept;

private:
    friend detail::access;
    explicit lock_handle(std::shared_ptr<detail::stake> s) noexcept : stake_(std::move(s)) {}

    std::shared_ptr<detail::stake> stake_;
};

namespace detail {

// What the library itself needs of its handles, and nobody else.
struct access {
    static lock_handle make_handle(std::shared_ptr<stake> s) noexcept { return lock_handle(std::move(s)); }
    static std::shared_ptr<stake> const& stake_of(lock_handle const& l) noexcept { return l.stake_; }

    template <class Manager>
    static Manager make_manager(std::shared_ptr<manager_state> e)
    {
        return Manager(std::move(e));
    }
    template <class Manager>
    static std::shared_ptr<manager_state>& state_of(Manager& m) noexcept
    {
        return m.state_;
    }
};

}  // namespace detail

/** A held lock. Move-only; empty when default-constructed or moved from.

    Destroying a lock, or assigning to it, gives back what it held: in the background, without waiting.
    It may outlive its manager, and then stays valid as long as it would without a renewal.

    Handlers without an executor of their own run on the manager's. An empty lock has none: they are called from within the call.

    @tparam Executor says what the default completion token is: that of the manager. `lock` is what everybody else needs.

    @par Thread safety
    The observers may be called from any thread, while operations run and while the execution context is destroyed; so may the
    destructor. Moving and assigning need the usual care.
*/
template <class Executor>
class [[nodiscard]] basic_lock : public lock_handle {
public:
    using executor_type = Executor;
    using default_completion_token = asio::default_completion_token_t<Executor>;

    /// The same with another default completion token.
    template <class Other>
    struct rebind_executor {
        using other = basic_lock<Other>;
    };

    basic_lock() noexcept = default;
    basic_lock(basic_lock&&) noexcept = default;
    basic_lock& operator=(basic_lock&&) noexcept = default;

    /// From one with another default completion token.
    basic_lock(lock_handle&& other) noexcept : lock_handle(std::move(other)) {}

    /** One more handle on the same lock, for another part of the same work. Handles of one lock do not exclude each other.

        They have the same token, the same validity and the same loss; an extension is one for all. Each is given back by itself:
        then it is not @ref held any more and its operations, those that are under way among them, end as those of a lock that was
        released, while the others keep the lock. With the last one the lock is given back.

        No node is asked: it is there at once. Any thread.

        @return an empty lock if this one is empty or was given back; of one that was lost, a handle that is not held
        @throws std::bad_alloc
    */
    basic_lock share() const { return detail::access::make_handle(detail::another(detail::access::stake_of(*this))); }

    /** Sets the time to live to @p ttl from now, on a majority of the nodes; it never becomes shorter. The lock is still lost
        when `acquire_options::max_hold` is over. It takes at most `config::node_timeout`; where the lock is upgraded or downgraded
        meanwhile, the nodes are asked once more.

        @par Completes
        - without an error: @ref valid_until has moved;
        - with an error: the lock is as valid as before, unless the error says otherwise.

        @par Completion signature
        `void(error_code)`

        @par Errors
        - @ref errc::lost : a majority does not know the lock any more, or its validity was over. Stop the work.
        - @ref errc::no_quorum : too few nodes answered. Try again while the lock is valid.
        - @ref errc::not_held : released before it could be extended, or empty.
        - @ref errc::invalid_argument : @p ttl is below 20 ms, above `config::max_ttl` or not above `config::node_timeout`.
        - `asio::error::operation_aborted` : cancelled, or the manager's shutdown has completed.

        @par Cancellation
        Terminal and partial: completes at once; the servers may have extended the lock all the same.
    */
    template <class CompletionToken = default_completion_token>
    auto async_extend(std::chrono::milliseconds ttl, CompletionToken&& token = default_completion_token())
    {
        auto start = [ttl](auto const& stake, detail::error_handler handler) {
            detail::start_extend(stake, ttl, std::move(handler));
        };
        return initiate<CompletionToken>(start, token);
    }

    /** Has a lock that is shared for itself alone, without a moment in which nobody holds it. Tries once, unless it is @ref mode::upgradeable: two
        that wait to be the last who reads would wait for each other.

        Then it is as any exclusive lock: @ref mode says so, renewals keep it so, and with `config::fencing` it has a new, higher
        @ref fencing_token. Its validity counts from the start of the upgrade: @ref valid_until may come earlier than it was.

        Once in its life: after a downgrade it is not upgraded again. Release it, and acquire another. It ends with its handle; handles that
        joined one that is @ref mode::upgradeable are so, too.

        @par Completes
        - without an error: nobody else holds it, in either mode;
        - with an error: it is shared as before, unless the error says otherwise. Some nodes may keep others from it all the same: try
          again, downgrade it, or release it.

        @par Completion signature
        `void(error_code)`

        @par Errors
        - @ref errc::contended : others share it, too; or it has several handles, as those have that joined what the manager shares.
        - @ref errc::lost : a majority does not know the lock any more, or its validity was over. Stop the work.
        - @ref errc::no_quorum, @ref errc::quarantined, @ref errc::validity_exhausted : as of an acquisition; also one that waits ends with them.
        - @ref errc::not_held : released before or meanwhile, or empty.
        - @ref errc::invalid_argument : it was not acquired shared, has been upgraded before, is being upgraded, or was resumed; or @p wait is
          negative, or not zero though the lock is not upgradeable; or to wait could deadlock, because the handle's
          `lock_scope` holds a name that comes later in the order of names, or has acquired one meanwhile. The message
          of a @ref lock_error names both locks.
        - @ref errc::unsupported : a node cannot do it. Nothing was sent.
        - `asio::error::operation_aborted` : cancelled, downgraded meanwhile, or the manager is being stopped.

        @par Cancellation
        Terminal and partial: completes at once. Total: while it waits, at once; otherwise this round is the last. It is shared as
        before; see above of what some nodes may do.

        @param wait For how long to ask again until the others have gone: zero tries once, @ref wait_forever until cancelled. Nobody comes to read
        meanwhile; if it is over, others may be kept out until the lock is over, and a second. Every other handle on
        the lock counts as one of the others, also if it came from the same `lock_scope`. Do not wait while you keep
        one: you would wait for yourself.
    */
    template <class CompletionToken = default_completion_token>
    auto async_upgrade(std::chrono::milliseconds wait, CompletionToken&& token = default_completion_token())
    {
        auto start = [wait](auto const& stake, detail::mode_handler handler) { detail::start_upgrade(stake, wait, std::move(handler)); };
        using error = std::conditional_t<detail::throws<std::decay_t<CompletionToken>>, detail::reported_error, error_code>;
        return detail::initiate<void(error)>::template on<detail::mode_handler, CompletionToken>(detail::access::stake_of(*this), start, token);
    }

    /// The same, tried once.
    template <asio::completion_token_for<void(error_code)> CompletionToken = default_completion_token>
    auto async_upgrade(CompletionToken&& token = default_completion_token())
    {
        return async_upgrade<CompletionToken>(std::chrono::milliseconds(0), std::forward<CompletionToken>(token));
    }

    /** Shares again what has been upgraded: others may share it, too.

        It counts as shared from the call on, whatever becomes of the operation: @ref mode says so. It keeps its @ref fencing_token,
        its @ref valid_until, and its place: nobody has it alone in between.

        @par Completes
        - without an error: a majority of the nodes lets others share it;
        - with an error: others may be kept out still, until it is called again or the lock is released.

        @par Completion signature
        `void(error_code)`

        @par Errors
        - @ref errc::no_quorum : too few nodes answered. Try again.
        - @ref errc::lost : a majority does not know the lock any more, or its validity was over. Stop the work.
        - @ref errc::not_held : released before, or empty.
        - @ref errc::invalid_argument : it was not acquired shared.
        - @ref errc::unsupported : a node cannot do it.
        - `asio::error::operation_aborted` : cancelled, or the manager's shutdown has completed.

        @par Cancellation
        Terminal and partial: completes at once; the servers may share it all the same.
    */
    template <class CompletionToken = default_completion_token>
    auto async_downgrade(CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& stake, detail::mode_handler handler) { detail::start_downgrade(stake, std::move(handler)); };
        return detail::initiate<void(error_code)>::template on<detail::mode_handler, CompletionToken>(detail::access::stake_of(*this), start, token);
    }

    /** Gives the lock back: deletes the key, where it is still ours, on every node that may have it.

        @ref held is false from the call on. Completes when a majority of the nodes is free; the others are
        released in the background, which goes on until they confirm or the key must have expired by itself. As long as there are
        other handles on the lock (@ref share) no node is asked, and it completes at once.

        @par Completion signature
        `void(error_code)`

        @par Errors
        - @ref errc::not_held : released before, lost, expired, or deleted on the servers by somebody else.
          The work that it protected may not have been alone.
        - @ref errc::no_quorum : too few nodes confirmed in time. The release goes on in the background.
        - `asio::error::operation_aborted` : cancelled, or the manager was stopped. The release goes on in the background.

        @par Cancellation
        Terminal and partial: completes at once.
    */
    template <class CompletionToken = default_completion_token>
    auto async_release(CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& stake, detail::error_handler handler) {
            detail::start_release(stake, std::move(handler));
        };
        return initiate<CompletionToken>(start, token);
    }

    /** Gives up the handle, and not the lock: its keys stay on the servers until their ttl is over, and nobody renews them any more. Whoever
        has the ticket may go on with it, in another process, or release it: `lock_manager::async_resume`, `lock_manager::async_release`.

        @ref held is false from the call on, and operations of this handle that are under way end as those of a lock that was released.
        The end of the manager leaves the keys alone. A lock that has several handles is not detached, because the last of them would
        give it back. No node is asked: it is there at once. Any thread.

        @return what another process needs; an empty one with an error. With an error the handle is what it was.

        @par Errors
        - @ref errc::not_held : empty, or released before.
        - @ref errc::lost : the lock was lost, or its validity is over. Stop the work.
        - @ref errc::contended : it has several handles, as those have that joined what the manager shares. Or it is a lock on several
          resources, and a node has not confirmed yet what it had to give back while it waited for them. Release it.
        - @ref errc::invalid_argument : it is @ref mode::upgradeable, or has been upgraded; or it is a handle of a scope on several locks, or on
          a part of one.
        - @ref errc::unsupported : the locks of a node end with the manager's session (`node_limits::ends_with_session`).

        @throws std::bad_alloc the handle is what it was
    */
    lock_ticket detach(error_code& ec) { return detail::detach(detail::access::stake_of(*this), ec); }

    /// The same, with errors as exceptions.
    /// @throws system_error
    lock_ticket detach()
    {
        error_code ec;
        auto ticket = detach(ec);
        if (ec)
            throw system_error(ec, "redlock: cannot detach the lock");
        return ticket;
    }

    /** Waits until the lock is lost.

        Completes before @ref valid_until, by a margin of min(max(ttl/20, 50 ms), ttl/5), from a timer that
        waits for no reply; or as soon as a majority of the nodes says that the lock is gone. Any number of
        waits may be pending.

        @par Completion signature
        `void(error_code)`, never without an error

        @par Errors
        - @ref errc::lost : stop the work now.
        - @ref errc::not_held : the lock is empty.
        - `asio::error::operation_aborted` : released, cancelled, or the manager is being stopped. In the last case the lock is still
          @ref held, but not renewed any more: stop the work and release it. The manager's shutdown waits for that.

        @par Cancellation
        All types: completes at once, without a trace.
    */
    template <class CompletionToken = default_completion_token>
    auto async_wait_lost(CompletionToken&& token = default_completion_token())
    {
        auto start = [](auto const& stake, detail::error_handler handler) {
            detail::start_wait_lost(stake, std::move(handler));
        };
        return initiate<CompletionToken>(start, token);
    }

private:
    template <class CompletionToken, class Start>
    auto initiate(Start start, std::remove_reference_t<CompletionToken>& token)
    {
        return detail::initiate<void(error_code)>::template on<detail::error_handler, CompletionToken>(
            detail::access::stake_of(*this), start, token);
    }
};

using lock = basic_lock<asio::any_io_executor>;

}  // namespace redlock
