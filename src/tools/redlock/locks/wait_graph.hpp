#pragma once

#include <redlock/inspect.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace redlock::cli {

/// A process that waits for a lock of another process. A process is known by its label.
struct process_wait {
    std::string waiter{}, holder{};
    std::string resource{};
    std::string note{};   ///< of the waiter; empty: none
    bool shares = false;  ///< whether the waiter wants to share the lock
};

/** The wait-for graph: which process waits for which other one.

    Processes without a label are left out. A process may have several tasks, so the graph also leaves out processes
    that wait for locks of their own.
*/
class wait_graph {
public:
    void add(lock_info const&);

    std::vector<process_wait> const& waits() const noexcept { return waits_; }

    /// False: there are more waits than the graph keeps.
    bool is_complete() const noexcept { return is_complete_; }

    /// Some cycles, in which each process waits for the next one, and the last one for the first. No process is in two
    /// of these cycles.
    std::vector<std::vector<process_wait>> cycles() const;

private:
    std::vector<process_wait> waits_;
    bool is_complete_ = true;
};

/// `a:1 waits for "x", which b:2 holds; b:2 waits for "y", which a:1 holds`
std::string text_of(std::vector<process_wait> const& cycle);

}  // namespace redlock::cli
