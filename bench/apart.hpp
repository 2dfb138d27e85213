#pragma once

#include "result.hpp"

#include <functional>
#include <vector>

namespace redlock::bench {

/** Calls @p measure in a process of its own, so that what one measurement does to the heap is nobody else's.

    @throws std::runtime_error with the message of what it threw; interrupted if it was
*/
std::vector<result> apart(std::function<std::vector<result>()> const& measure);

}  // namespace redlock::bench
