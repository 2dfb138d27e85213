#pragma once

#include <redlock/lock_manager.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace redlock {

namespace detail {

inline constexpr auto as_tuple_awaitable = asio::as_tuple(asio::use_awaitable);

// Where a body leaves its result; a type of its own for void, and no need of a default constructor.
template <class T>
using result_slot = std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>>;

template <class T, class F, class... Args>
asio::awaitable<void> run_body(F& body, result_slot<T>& result, Args&... args)
{
    if constexpr (std::is_void_v<T>) {
        co_await body(args...);
        result.emplace();
    } else {
        result.emplace(co_await body(args...));
    }
}

inline bool is_cancellation(std::exception_ptr const& failure)
{
    try {
        std::rethrow_exception(failure);
    } catch (system_error const& e) {
        return e.code() == asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

// Runs @p body until it ends or @p held is lost: whichever comes first cancels the other. All of it on one strand, the
// caller's executor may have many threads.
// @return whether the lock was lost first, and what the body threw
template <class T, class F>
asio::awaitable<std::pair<bool, std::exception_ptr>> run_until_lost(F& body, lock& held, result_slot<T>& result)
{
    asio::any_io_executor const strand = co_await asio::this_coro::executor;
    std::tuple<std::array<std::size_t, 2>, std::exception_ptr, error_code> const ended =
        co_await asio::experimental::make_parallel_group(
            asio::co_spawn(strand, run_body<T>(body, result, held), asio::deferred),
            held.async_wait_lost(asio::bind_executor(strand, asio::deferred)))
            .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    co_return std::pair(std::get<0>(ended)[0] == 1 && std::get<2>(ended) == errc::lost, std::get<1>(ended));
}

template <class T, class F>
asio::awaitable<T> with_lock(std::shared_ptr<engine> engine, std::string resource, acquire_options options, F body)
{
    asio::any_io_executor const executor = co_await asio::this_coro::executor;
    std::tuple<error_code, lock> acquired = co_await acquire(engine, resource, options, as_tuple_awaitable);
    auto const acquire_error = std::get<0>(acquired);
    auto& held = std::get<1>(acquired);
    if (acquire_error)
        throw system_error(acquire_error, explain(*engine, resource, options, acquire_error));

    result_slot<T> result;
    std::pair<bool, std::exception_ptr> const ended = co_await asio::co_spawn(
        asio::any_io_executor(asio::make_strand(executor)), run_until_lost<T>(body, held, result), asio::use_awaitable);
    auto const [lost, failure] = ended;

    asio::cancellation_state const state = co_await asio::this_coro::cancellation_state;
    std::tuple<error_code> released;
    if (state.cancelled() != asio::cancellation_type::none)
        held = {};  // returns at once; the release goes on in the background
    else
        released = co_await held.async_release(as_tuple_awaitable);

    if (failure && !(lost && is_cancellation(failure)))
        std::rethrow_exception(failure);
    // A lock that a majority did not know any more when it was given back protected nothing at the end.
    if (lost || std::get<0>(released) == errc::not_held)
        throw system_error(errc::lost, explain(*engine, resource, options, errc::lost));
    if constexpr (!std::is_void_v<T>)
        co_return std::move(*result);
}

}  // namespace detail

template <class F>
std::invoke_result_t<F&, lock&> lock_manager::with_lock(std::string resource, acquire_options options, F body)
{
    // No coroutine itself: one begins when it is awaited, and the manager may be gone by then.
    using T = typename std::invoke_result_t<F&, lock&>::value_type;
    return detail::with_lock<T>(engine_, std::move(resource), options, std::move(body));
}

}  // namespace redlock
