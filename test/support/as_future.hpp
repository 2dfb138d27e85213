#pragma once

#include <boost/asio/use_future.hpp>

#include <tuple>
#include <utility>

namespace redlock::test {

/// A completion token that returns a future of all results, the error included. For threads without an event loop.
inline auto as_future()
{
    return boost::asio::use_future([](auto... results) { return std::tuple(std::move(results)...); });
}

}  // namespace redlock::test
