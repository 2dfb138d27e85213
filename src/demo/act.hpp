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
    /// The shop has so many of each of @p kinds of items, 1 to 20.
    act(progress& p, servers& s, std::int64_t first_delivery, std::size_t kinds = 1);

    /// Starts a process of buyers, who wait for the doors to open.
    testbed::process& admit(crowd const& c);

    /// @p c says how all buyers come, who then come from either process in turn.
    void admit_in_two_processes(crowd c);

    void open_doors();
    void close_doors();

    /// Shows the progress until @p condition is true, or @p limit is over. Whether it became true.
    /// @throws interrupted, or std::runtime_error if a process of buyers fails
    bool watch_until(std::function<bool()> const& condition, std::chrono::milliseconds limit);

    void watch_for(std::chrono::milliseconds duration);

    /// How many pieces are sold within @p duration, and until the first one is, but not for ever. Not those under way.
    std::int64_t sales(std::chrono::milliseconds duration);

    /// Until all buyers' processes have ended.
    /// @throws std::runtime_error if nothing happens any more
    void watch_to_the_end();

    void claim_that_books_are_right();

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
