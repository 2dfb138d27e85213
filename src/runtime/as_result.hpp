#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace redlock::inline v1::runtime {

/// Awaits an operation and returns its results, the error included, instead of throwing.
inline constexpr auto as_result = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace redlock::runtime
