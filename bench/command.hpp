#pragma once

#include "scenarios.hpp"

namespace redlock::bench {

/// What it takes to start a command under a lock, beside one redis-cli for each node.
std::vector<result> command_under_lock(options const&, progress const&);

}  // namespace redlock::bench
