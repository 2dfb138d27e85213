#pragma once

#include <redlock/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace redlock::cli {

namespace asio = boost::asio;

/** Something that can be read when standard input can. Wait for it, and then read from standard input.

    Other programs share the input, so it must stay as it is. Asio of Boost 1.81 makes a descriptor non-blocking when it
    waits for it, and the others would fail to read.

    @param ec the reason if the input cannot be waited for; a file is such an input
*/
asio::posix::stream_descriptor watched_input(asio::any_io_executor const&, error_code& ec);

/// Ends if it is cancelled.
asio::awaitable<void> wait_for_ever();

}  // namespace redlock::cli
