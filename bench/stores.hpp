#pragma once

#include "scenarios.hpp"

namespace redlock::bench {

/// Locks in other stores than Redis, each beside its own native client. Stores whose servers are not here are left out, and that is told.
std::vector<result> stores(options const&, progress const&);

}  // namespace redlock::bench
