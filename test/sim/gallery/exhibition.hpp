#pragma once

#include <cstdint>
#include <string>

namespace redlock::sim::gallery {

/// The options of the gallery.
struct plan {
    std::uint64_t first = 1;   ///< the first seed
    std::uint64_t seeds = 22;  ///< worlds of each kind
    unsigned jobs = 1;         ///< threads
    /// Only algorithms with these words in their names, and a history for each kind of worlds. Empty: all algorithms.
    std::string only{};
    /// Stops with an algorithm as soon as it is broken, and prints no table.
    bool until_caught = false;
};

/// Plays each algorithm in the same worlds, and prints the results.
/// @return the exit status: 0 if all algorithms without a promise were broken, and the others kept their promise
int exhibit_all(plan const&);

}  // namespace redlock::sim::gallery
