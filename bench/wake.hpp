#pragma once

#include "sample.hpp"

#include <redlock/config.hpp>

#include <chrono>

namespace redlock::bench {

/// A holder gives up, and a waiter of another manager has the lock, over and over; `acquire` is what that takes.
sample wake(config const&, std::chrono::milliseconds duration);

}  // namespace redlock::bench
