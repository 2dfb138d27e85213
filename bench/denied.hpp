#pragma once

#include "scenarios.hpp"

namespace redlock::bench {

/// Measures what each denied round of a waiting acquisition of many names costs the servers.
std::vector<result> denied(options const&, progress const&);

}  // namespace redlock::bench
