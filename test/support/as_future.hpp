#pragma once

#include <boost/asio/use_future.hpp>

#include <tuple>
#include <utility>

namespace redlock::test {

/// A completion token: a future of what an operation completes with, its error too. For threads that run no event loop.
inline auto as_future()
{
    return boost::asio::use_future([](auto... results) { return std::tuple(std::move(results)...); });
}

}  // namespace redlock::test
