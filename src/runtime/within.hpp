#pragma once

#include <redlock/error.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <tuple>
#include <utility>
#include <variant>

namespace redlock::inline v1::runtime {

/** Awaits an operation that was started with `as_result`, and cancels it after @p limit.

    A cancelled operation completes with `operation_aborted`. Asio has `cancel_after` only since Boost 1.86.
*/
template <class... Results>
boost::asio::awaitable<std::tuple<error_code, Results...>> within(
    std::chrono::milliseconds limit, boost::asio::awaitable<std::tuple<error_code, Results...>> operation)
{
    using namespace boost::asio::experimental::awaitable_operators;
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, limit);
    auto ended = co_await (std::move(operation) || timer.async_wait(boost::asio::use_awaitable));
    if (auto* const results = std::get_if<0>(&ended))
        co_return std::move(*results);
    co_return std::tuple<error_code, Results...>(boost::asio::error::operation_aborted, Results()...);
}

}  // namespace redlock::runtime
