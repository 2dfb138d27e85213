#pragma once

#include "scenarios.hpp"

namespace redlock::bench {

/// A semaphore of eight, which many want.
std::vector<result> slots_of_a_semaphore(options const&, progress const&);

}  // namespace redlock::bench
