#pragma once

#include "sample.hpp"

#include <redlock/manager_options.hpp>

#include <chrono>

namespace redlock::bench {

/// Repeats a hand-over from a holder to a waiter of another manager. `acquire` is the time from the release to the
/// lock.
sample wake(manager_options const&, std::chrono::milliseconds duration);

}  // namespace redlock::bench
