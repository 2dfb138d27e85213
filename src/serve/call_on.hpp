#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>

namespace redlock::serve {

namespace asio = boost::asio;

/** Runs a coroutine on an executor of another thread, and waits for its end.

    `co_spawn` from one executor to another cannot be cancelled safely in Boost 1.81: the signal may arrive after the
    coroutine has ended. Here the signal lives as long as anybody may use it.

    @param start is called on @p there
*/
asio::awaitable<void> call_on(asio::any_io_executor there, std::function<asio::awaitable<void>()> start);

}  // namespace redlock::serve
