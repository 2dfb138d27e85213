#pragma once

#include "load.hpp"

#include <cstddef>
#include <map>
#include <string>

namespace redlock::bench {

/** Runs the load in several processes that compete for the same locks.

    @param w  the work of all processes together: `clients` is a multiple of @p processes; `one_key` or `slots` is set
    @param more  gets the smallest and the largest share of a process in percent, and the rounds per lock
    @throws std::runtime_error if a process fails; interrupted after a signal
*/
sample run_crowd(manager_options const&, work w, std::size_t processes, std::map<std::string, double>& more);

}  // namespace redlock::bench
