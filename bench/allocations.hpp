#pragma once

#include <cstddef>
#include <cstdint>

namespace redlock::bench {

/// Heap use of this program since its start, by all allocating functions.
struct heap {
    std::uint64_t allocations = 0;
    std::uint64_t bytes = 0;       ///< requested
    std::uint64_t live_bytes = 0;  ///< usable size of the blocks that are not freed yet
    std::uint64_t peak_bytes = 0;  ///< highest `live_bytes` since @ref reset_peak
};

/// Not thread-safe: only one thread may allocate.
heap heap_now() noexcept;
void reset_peak() noexcept;

inline std::size_t allocations() noexcept { return heap_now().allocations; }

}  // namespace redlock::bench
