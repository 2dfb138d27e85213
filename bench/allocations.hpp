#pragma once

#include <cstddef>

namespace redlock::bench {

/// How often this program has called `operator new` so far.
std::size_t allocations() noexcept;

}  // namespace redlock::bench
