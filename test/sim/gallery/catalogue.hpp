#pragma once

#include "sim/gallery/algorithm.hpp"
#include "sim/gallery/stores.hpp"

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace redlock::sim::gallery {

/// When two clients may be in the critical section at once.
enum class promise {
    none,
    unless_paused,  ///< only if a holder is paused between its check of the lock and a touch, or if clocks jump
    always,         ///< never
};

/// The result of an algorithm's own flaw.
enum class symptom {
    two_at_once,  ///< or a deadlock
    unused,       ///< without faults, a lock that nobody has is refused for long
    unused_with_one_stopped,
};

/// An algorithm, and how many servers of which kind it uses.
struct exhibit {
    std::string_view name;
    std::size_t servers = 1;
    bool fencing = false;
    /// A history with these words shows the flaw of this algorithm, not of all. Empty: any history does. Words on both
    /// sides of " … " must follow one another.
    std::string_view flaw{};
    bool flaw_alone = false;  ///< the history must show it without a pause and without wrong clocks
    symptom shows = symptom::two_at_once;
    promise excludes = promise::none;
    maker* make_server = plain_redis;
    std::unique_ptr<algorithm> (*make)(computer&);
};

/// The algorithms whose names contain @p words, the simplest first.
std::vector<exhibit> catalogue(std::string_view words);

}  // namespace redlock::sim::gallery
