#pragma once

#include "sim/gallery/catalogue.hpp"
#include "sim/profile.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::sim::gallery {

/// The result of one algorithm in one world.
struct verdict {
    bool broken = false;                 ///< two holders were in the critical section at once
    bool broken_unpaused = false;        ///< also without a pause between a check of the lock and a touch
    bool deadlocked = false;             ///< long after all faults, nobody could get the lock
    bool left_keys = false;              ///< keys were left after all clients had died and any lock had expired
    std::size_t visits = 0;              ///< while there were faults
    double least_share = 0;              ///< the fewest visits of a visitor, divided by the average
    std::vector<std::string> history{};  ///< how it was broken first
    std::vector<std::string> deadlock_history{};
    std::vector<std::string> unused_history{};  ///< how a lock was refused that nobody had, in a quiet world
    std::string violation{};                    ///< a broken promise of the library, other than exclusion
};

/// The conditions of a trial.
struct conditions {
    profile faults;
    bool brief = false;        ///< visits are as short as possible
    bool one_stopped = false;  ///< the first server answers nobody
};

inline constexpr auto time_of_faults = std::chrono::seconds(15);

verdict try_out(exhibit const&, conditions const&, std::uint64_t seed);

}  // namespace redlock::sim::gallery
