#pragma once

#include <redlock/clock.hpp>
#include <redlock/detail/api.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace redlock {

namespace asio = boost::asio;

namespace detail {

class held_lock;
using error_handler = completion<void(error_code)>;

REDLOCK_API asio::any_io_executor executor_of(std::shared_ptr<held_lock> const&) noexcept;
REDLOCK_API void start_extend(std::shared_ptr<held_lock>, std::chrono::milliseconds ttl, error_handler);
REDLOCK_API void start_release(std::shared_ptr<held_lock>, error_handler);
REDLOCK_API void start_wait_lost(std::shared_ptr<held_lock>, error_handler);

// Starts an operation on a lock: carries the executor, so that cancel_after and its like work.
template <class Start>
struct initiate_on_lock {
    std::shared_ptr<held_lock> held;
    Start start;

    using executor_type = asio::any_io_executor;
    executor_type get_executor() const noexcept { return executor_of(held); }

    template <class Handler>
    void operator()(Handler&& handler) const
    {
        start(held, error_handler(std::decay_t<Handler>(std::forward<Handler>(handler)), get_executor()));
    }
};

}  // namespace detail

/** A held lock. Move-only; empty when default-constructed or moved from.

    Destroying a lock, or assigning to it, gives back what it held: in the background, without waiting.
    It may outlive its manager; it is then not held any more.

    @par Thread safety
    The observers may be called from any thread while operations run. Moving, assigning and destroying
    need the usual care.
*/
class [[nodiscard]] REDLOCK_API lock {
public:
    lock() noexcept = default;
    lock(lock&&) noexcept = default;
    lock& operator=(lock&& other) noexcept;
    ~lock();

    /** Whether the lock is held, as far as this process knows: not released, not lost, validity not over.

        Read from the clock at each call. Even so the answer is old by the time it is used: what must never
        be touched by two needs fencing, see docs/guarantees.md.
    */
    bool held() const noexcept;

    /// The same as @ref held.
    explicit operator bool() const noexcept { return held(); }

    /// When the servers may begin to forget the lock: start of the acquisition or of the last extension
    /// + ttl - (ttl * drift_factor + 2 ms). The lock counts as lost a little earlier. The clock's epoch if empty.
    clock::time_point valid_until() const noexcept;

    /// Time left until @ref valid_until; zero if not held.
    clock::duration remaining() const noexcept;

    /// What was locked. Empty if the lock is.
    std::string const& resource() const noexcept;

    /// The value of the key on the servers: 128 random bits in hexadecimal, ':', and the owner's label.
    /// Whoever knows it can release the lock, so it does not belong into logs.
    std::string const& token() const noexcept;

    /** A number that grows with every acquisition of the resource, by whomever; below 2^53. Renewal keeps it, and so does
        release. Give it to whatever the lock protects, and let that refuse smaller ones: docs/fencing.md.
        0: `config::fencing` is off, or the lock is empty. */
    std::uint64_t fencing_token() const noexcept;

    /** Sets the time to live to @p ttl from now, on a majority of the nodes; it never becomes shorter.

        @par Completes
        - without an error: @ref valid_until has moved;
        - with an error: the lock is as valid as before, unless the error says otherwise.

        @par Completion signature
        `void(error_code)`

        @par Errors
        - @ref errc::lost : a majority does not know the lock any more, or its validity was over. Stop the work.
        - @ref errc::no_quorum : too few nodes answered. Try again while the lock is valid.
        - @ref errc::not_held : released before, or empty.
        - @ref errc::invalid_argument : @p ttl is below 20 ms, above `config::max_ttl` or not above `config::node_timeout`.
        - `asio::error::operation_aborted` : cancelled, or the manager was stopped.

        @par Cancellation
        Terminal and partial: completes at once; the servers may have extended the lock all the same.
    */
    template <class CompletionToken = asio::deferred_t>
    auto async_extend(std::chrono::milliseconds ttl, CompletionToken&& token = {})
    {
        auto start = [ttl](auto const& held, detail::error_handler handler) {
            detail::start_extend(held, ttl, std::move(handler));
        };
        return initiate(start, token);
    }

    /** Gives the lock back: deletes the key, where it is still ours, on every node that may have it.

        @ref held is false from the call on. Completes when a majority of the nodes is free; the others are
        released in the background, which goes on until they confirm or the key must have expired by itself.

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
    template <class CompletionToken = asio::deferred_t>
    auto async_release(CompletionToken&& token = {})
    {
        auto start = [](auto const& held, detail::error_handler handler) {
            detail::start_release(held, std::move(handler));
        };
        return initiate(start, token);
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
        - `asio::error::operation_aborted` : released, cancelled, or the manager was stopped.

        @par Cancellation
        All types: completes at once, without a trace.
    */
    template <class CompletionToken = asio::deferred_t>
    auto async_wait_lost(CompletionToken&& token = {})
    {
        auto start = [](auto const& held, detail::error_handler handler) {
            detail::start_wait_lost(held, std::move(handler));
        };
        return initiate(start, token);
    }

    // For the manager.
    explicit lock(std::shared_ptr<detail::held_lock> held) noexcept : held_(std::move(held)) {}

private:
    template <class Start, class CompletionToken>
    auto initiate(Start start, CompletionToken& token)
    {
        return asio::async_initiate<CompletionToken, void(error_code)>(
            detail::initiate_on_lock<Start>{held_, start}, token);
    }

    std::shared_ptr<detail::held_lock> held_;
};

}  // namespace redlock
