#pragma once

#include "scenarios.hpp"

namespace redlock::bench {

/// What a waiting acquisition of many names costs the servers in each round in which it is denied.
std::vector<result> denied(options const&, progress const&);

}  // namespace redlock::bench
