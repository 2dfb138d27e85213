#pragma once

#include "tools/demo/buyers.hpp"
#include "tools/demo/progress.hpp"
#include "tools/demo/servers.hpp"
#include "tools/demo/shop.hpp"
#include "bed/process.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <string>

namespace redlock::demo {

/// One act of the demonstration: a shop, the processes of its buyers, and the display of their progress.
class act {
public:
    /// The shop begins with @p first_delivery pieces of each of @p kinds items; kinds: 1 to 20.
    act(progress& p, servers& s, std::int64_t first_delivery, std::size_t kinds = 1);

    /// Starts a process of buyers. They wait for open_doors().
    testbed::process& admit(crowd const& c);

    /// Divides the buyers of @p c between two processes; their arrivals alternate.
    void admit_in_two_processes(crowd c);

    void open_doors();
    void close_doors();

    /// Shows the progress until @p condition is true, or @p limit is over. Returns whether it became true.
    /// @throws interrupted, or std::runtime_error if a process of buyers fails
    bool watch_until(std::function<bool()> const& condition, std::chrono::milliseconds limit);

    void watch_for(std::chrono::milliseconds duration);

    /// Counts the pieces sold within @p duration. If none is sold, it waits for the first one, for at most 10 s.
    std::int64_t sales(std::chrono::milliseconds duration);

    /// Shows the progress until all buyers' processes have ended.
    /// @throws std::runtime_error if nothing happens for 30 s
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
    std::list<testbed::process> processes_;  // declared after the shop, so destroyed before it
    steady::time_point opened_;
    steady::time_point ended_;
};

}  // namespace redlock::demo
