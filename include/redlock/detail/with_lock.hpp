#pragma once

#include <redlock/lock_manager.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <exception>
#include <optional>
#include <tuple>
#include <variant>

namespace redlock {

namespace detail {

// Where a body leaves its result; a type of its own for void, and no need of a default constructor.
template <class T>
using result_slot = std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>>;

template <class T, class F>
asio::awaitable<void> run_body(F& body, lock& held, result_slot<T>& result)
{
    if constexpr (std::is_void_v<T>) {
        co_await body(held);
        result.emplace();
    } else {
        result.emplace(co_await body(held));
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

}  // namespace detail

template <class F>
std::invoke_result_t<F&, lock&> lock_manager::with_lock(std::string resource, acquire_options options, F body)
{
    using T = typename std::invoke_result_t<F&, lock&>::value_type;

    auto engine = engine_;  // the manager may be destroyed while the body runs
    asio::any_io_executor const executor = co_await asio::this_coro::executor;
    std::tuple<error_code, lock> acquired =
        co_await async_acquire(resource, options, asio::as_tuple(asio::use_awaitable));
    auto const acquire_error = std::get<0>(acquired);
    auto& held = std::get<1>(acquired);
    if (acquire_error)
        throw system_error(acquire_error, detail::explain(*engine, resource, options, acquire_error));

    // Whichever ends first cancels the other: the body, or the wait for the lock's loss.
    detail::result_slot<T> result;
    std::tuple<std::array<std::size_t, 2>, std::exception_ptr, error_code> ended =
        co_await asio::experimental::make_parallel_group(
            asio::co_spawn(executor, detail::run_body<T>(body, held, result), asio::deferred),
            held.async_wait_lost(asio::deferred))
            .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    auto const failure = std::get<1>(ended);
    bool const lost = std::get<0>(ended)[0] == 1 && std::get<2>(ended) == errc::lost;

    asio::cancellation_state const state = co_await asio::this_coro::cancellation_state;
    std::tuple<error_code> released;
    if (state.cancelled() != asio::cancellation_type::none)
        held = {};  // returns at once; the release goes on in the background
    else
        released = co_await held.async_release(asio::as_tuple(asio::use_awaitable));

    if (failure && !(lost && detail::is_cancellation(failure)))
        std::rethrow_exception(failure);
    // A lock that a majority did not know any more when it was given back protected nothing at the end.
    if (lost || std::get<0>(released) == errc::not_held)
        throw system_error(errc::lost, detail::explain(*engine, resource, options, errc::lost));
    if constexpr (!std::is_void_v<T>)
        co_return std::move(*result);
}

}  // namespace redlock
