#pragma once

#include "load.hpp"

#include <cstddef>
#include <map>
#include <string>

namespace redlock::bench {

/** Several processes that want the same lock, each with a load of its own.

    @param w of all of them together: `clients` is a multiple of @p processes, and `one_key` is set
    @param more gets the smallest and the largest share of a process, in percent, and rounds per lock
    @throws std::runtime_error if one of them fails; interrupted if it was
*/
sample run_crowd(config const&, work w, std::size_t processes, std::map<std::string, double>& more);

}  // namespace redlock::bench
