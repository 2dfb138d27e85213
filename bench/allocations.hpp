#pragma once

#include <cstddef>
#include <cstdint>

namespace redlock::bench {

/// What this program has taken from the heap so far, through whichever function.
struct heap {
    std::uint64_t allocations = 0;
    std::uint64_t bytes = 0;       ///< as asked for
    std::uint64_t live_bytes = 0;  ///< as handed out, and not given back
    std::uint64_t peak_bytes = 0;  ///< the most of these since @ref reset_peak
};

/// For a program in which one thread allocates.
heap heap_now() noexcept;
void reset_peak() noexcept;

inline std::size_t allocations() noexcept { return heap_now().allocations; }

}  // namespace redlock::bench
