#pragma once

#include "scenarios.hpp"

namespace redlock::bench {

/// One lock that nearly all share, and a few want alone.
std::vector<result> shared(options const&, progress const&);

}  // namespace redlock::bench
