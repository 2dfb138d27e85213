#pragma once

#include <cstdint>
#include <string>

namespace redlock::sim::gallery {

/// What is asked of the gallery.
struct plan {
    std::uint64_t first = 1;   ///< seed
    std::uint64_t seeds = 22;  ///< worlds of each kind
    unsigned jobs = 1;         ///< threads
    std::string only{};  ///< algorithms with these words in their names, and a history for each kind of worlds; empty:
                         ///< all
    bool until_caught = false;  ///< plays no more worlds with an algorithm than it takes to break it, and prints no
                                ///< table
};

/// Plays each algorithm in the same worlds, and prints what became of it.
/// @return the exit status: 0 if all that promise nothing were caught, and those that promise something kept that
int exhibit_all(plan const&);

}  // namespace redlock::sim::gallery
