#pragma once

#include "scenarios.hpp"

namespace redlock::bench {

/// One of the servers is stopped for the middle third of the time, then it goes on.
std::vector<result> stalled(options const&, progress const&);

/// One of the servers is killed after a third of the time, and started again, empty, after two.
std::vector<result> killed(options const&, progress const&);

}  // namespace redlock::bench
