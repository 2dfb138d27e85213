#pragma once

#include "sample.hpp"
#include "scenarios.hpp"

#include <redlock/config.hpp>

#include <chrono>

namespace redlock::bench {

/// How soon a waiter has a lock that somebody else gives up, and what waiting for one costs that stays held and renewed.
std::vector<result> woken(options const&, progress const&);

/// A holder gives up, and a waiter of another manager has the lock, over and over; `acquire` is what that takes.
sample wake(config const&, std::chrono::milliseconds duration);

}  // namespace redlock::bench
