#pragma once

#include "result.hpp"

#include <functional>
#include <vector>

namespace redlock::bench {

/** Calls @p measure in a process of its own, so that each measurement begins with a fresh heap.

    @throws std::runtime_error with the message of the exception that @p measure threw; interrupted after a signal
*/
std::vector<result> apart(std::function<std::vector<result>()> const& measure);

}  // namespace redlock::bench
