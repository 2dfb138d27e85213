#pragma once

#include <redlock/clock.hpp>
#include <redlock/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>

namespace redlock::stores::kit {

namespace asio = boost::asio;

/// A timer on the clock of this library.
using timer = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, asio::any_io_executor>;

}  // namespace redlock::stores::kit
