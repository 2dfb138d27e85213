#pragma once

#include "support/virtual_world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace redlock::test {

/// A virtual pause that can be cancelled, as a user's I/O can.
inline asio::awaitable<void> work_for(virtual_world& w, clock::duration d)
{
    asio::steady_timer never(w.context, asio::steady_timer::time_point::max());
    auto const number = w.at(w.now + d, [&] { never.cancel(); });
    co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
    w.forget(number);
    if ((co_await asio::this_coro::cancellation_state).cancelled() != asio::cancellation_type::none)
        throw system_error(asio::error::operation_aborted);
}

/// The same, but it takes no note of being cancelled.
inline asio::awaitable<void> stubborn_work(virtual_world& w, clock::duration d)
{
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await work_for(w, d);
}

}  // namespace redlock::test
