#pragma once

#include "scenarios.hpp"

namespace redlock::bench {

/// How soon a waiter has a lock that somebody else gives up, and what waiting for one costs that stays held and renewed.
std::vector<result> woken(options const&, progress const&);

}  // namespace redlock::bench
