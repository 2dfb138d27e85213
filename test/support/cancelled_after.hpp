#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <utility>

namespace redlock::test {

/// A completion token: calls @p handler on @p executor, and cancels the operation after @p limit.
/// Unlike `cancel_after`, it does not need Boost 1.86.
template <class Handler>
auto cancelled_after(boost::asio::any_io_executor executor, std::chrono::steady_clock::duration limit, Handler handler)
{
    struct cancellation {
        explicit cancellation(boost::asio::steady_timer t) : timer(std::move(t)) {}
        boost::asio::steady_timer timer;
        boost::asio::cancellation_signal signal;
    };
    auto const c = std::make_shared<cancellation>(boost::asio::steady_timer(executor, limit));
    c->timer.async_wait([c](auto ec) {
        if (!ec)
            c->signal.emit(boost::asio::cancellation_type::terminal);
    });
    auto ended = [c, handler = std::move(handler)](auto... results) mutable {
        c->timer.cancel();
        handler(std::move(results)...);
    };
    auto there = boost::asio::bind_executor(executor, std::move(ended));
    return boost::asio::bind_cancellation_slot(c->signal.slot(), std::move(there));
}

}  // namespace redlock::test
