#pragma once

#include "support/virtual_world.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace redlock::test {

/// Makes 400 acquisitions while servers of @p w fail and recover. Locks are shared, renewed, detached and lost. At the
/// end all servers answer again, and some of the locks are still held.
/// @param rare the mode of every 23rd acquisition
inline std::vector<std::unique_ptr<lock_world::outcome>> acquire_during_faults(lock_world& w, lock_manager& locks,
                                                                               mode rare = mode::exclusive)
{
    std::vector<std::unique_ptr<lock_world::outcome>> all;
    error_code ignored;
    for (int i = 0; i < 400; ++i) {
        acquire_options const how{.ttl = std::chrono::milliseconds(100 + 50 * (i % 7)),
                                  .wait = std::chrono::milliseconds(i % 5 == 0 ? 0 : 30 * (i % 11)),
                                  .renew = i % 3 == 0 ? renewal::automatic : renewal::none,
                                  .mode = i % 4 == 0    ? mode::shared
                                          : i % 23 == 1 ? rare
                                                        : mode::exclusive};
        w.start_acquire(*all.emplace_back(std::make_unique<lock_world::outcome>()), locks, "r" + std::to_string(i % 6),
                        how);
        w[i % 3].reachable = i % 40 < 30;
        w[(i + 1) % 3].mute = i % 50 > 40;
        w.run_for(std::chrono::milliseconds(i % 13));
        auto& earlier = *all[static_cast<std::size_t>(i / 2)];
        if (earlier.held.held() && i % 10 == 9)
            earlier.held.detach(ignored);
        else if (i % 3 != 0)
            earlier.held = {};
    }
    w.each([](auto& s) { s.reachable = !(s.mute = false); });
    w.run_for(std::chrono::seconds(2));
    return all;
}

}  // namespace redlock::test
