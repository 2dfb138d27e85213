#pragma once

#include "scenarios.hpp"

namespace redlock::bench {

/// What several resources at once cost, and how long they are waited for where others want each of them alone.
std::vector<result> sets(options const&, progress const&);

}  // namespace redlock::bench
