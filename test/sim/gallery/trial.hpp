#pragma once

#include "sim/gallery/catalogue.hpp"
#include "sim/profile.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::sim::gallery {

/// What became of one algorithm in one world.
struct verdict {
    bool broken = false;           ///< two were in the critical section at once
    bool broken_unpaused = false;  ///< also when nobody had stood still between a look at the lock and a touch
    bool deadlocked = false;       ///< long after all faults nobody could have it
    bool left_keys = false;        ///< when all have died, for longer than any lock lasts
    std::size_t visits = 0;        ///< as long as there were faults
    double least_share = 0;        ///< of the visits the visitor with the fewest had, times the number of visitors
    std::vector<std::string> history{};  ///< of how it was broken first
    std::string violation{};             ///< of what the library promises beyond exclusion
};

/// As long as its faults last, a world that no lock needs to fear.
struct conditions {
    profile faults;
    bool brief = false;        ///< visits are as short as can be
    bool one_stopped = false;  ///< the first server answers nobody
};

inline constexpr auto time_of_faults = std::chrono::seconds(15);

verdict try_out(exhibit const&, conditions const&, std::uint64_t seed);

}  // namespace redlock::sim::gallery
