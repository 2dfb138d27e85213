#pragma once

#include <redlock/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace redlock::cli {

namespace asio = boost::asio;

/** Returns a descriptor (an epoll) that is readable when standard input is. Wait for it, then read standard input.

    Asio of Boost 1.81 makes a descriptor non-blocking when it waits for it. Other programs share standard input, and
    their reads would fail.

    @param ec  set if the input cannot be waited for, for example if it is a file
*/
asio::posix::stream_descriptor watched_input(asio::any_io_executor const&, error_code& ec);

/// Waits until it is cancelled.
asio::awaitable<void> wait_for_ever();

}  // namespace redlock::cli
