#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace redlock::serve {

/// Makes a coroutine wait for an operation and get its error instead of an exception.
inline constexpr auto as_result = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace redlock::serve
