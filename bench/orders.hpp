#pragma once

#include "scenarios.hpp"

namespace redlock::bench {

/// The order service of docs/examples/shop under load: orders that hold a lock, and as the floor the same without locks.
std::vector<result> orders(options const&, progress const&);

}  // namespace redlock::bench
