#pragma once

#include "demo/buyers.hpp"
#include "demo/progress.hpp"
#include "demo/servers.hpp"
#include "demo/shop.hpp"
#include "testbed/process.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <string>

namespace redlock::demo {

/// One act of the play: a shop, the processes of its buyers, and somebody who watches.
class act {
public:
    act(progress& p, servers& s, std::int64_t first_delivery);

    /// Starts a process of buyers, who wait for the doors to open.
    testbed::process& admit(crowd const& c);

    void open_doors();
    void close_doors();

    /// Shows the progress until @p condition is true, or @p limit is over. Whether it became true.
    /// @throws interrupted, or std::runtime_error if a process of buyers fails
    bool watch_until(std::function<bool()> const& condition, std::chrono::milliseconds limit);

    void watch_for(std::chrono::milliseconds duration);

    /// Until all buyers' processes have ended.
    /// @throws std::runtime_error if nothing happens any more
    void watch_to_the_end();

    shop& books() noexcept { return *shop_; }
    act_result result(std::string name, std::size_t buyers) const;

private:
    using steady = std::chrono::steady_clock;

    bool all_ended();

    progress& progress_;
    servers& servers_;
    shop_pointer shop_;
    std::list<testbed::process> processes_;  // after the shop: they go first
    steady::time_point opened_;
    steady::time_point ended_;
};

}  // namespace redlock::demo
