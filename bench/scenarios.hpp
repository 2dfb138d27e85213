#pragma once

#include "options.hpp"
#include "result.hpp"

#include <functional>
#include <string>
#include <vector>

namespace redlock::bench {

std::vector<std::string> scenario_names();

/// Called with a description before each round.
using progress = std::function<void(std::string const& what)>;

/// @throws std::runtime_error if the scenario cannot run, or a server fails
std::vector<result> run_scenario(std::string const& name, options const&, progress const&);

// A scenario is in the file of its name, unless its comment names another file.

/// Measures `redlock run` with a command that does nothing. The floor is one redis-cli PING for each node.
std::vector<result> command_under_lock(options const&, progress const&);

/// Measures the servers' work for each denied round of a waiting acquisition of many names.
std::vector<result> denied(options const&, progress const&);

/// In fault.cpp: one server is stopped for the middle third of the time.
std::vector<result> stalled(options const&, progress const&);

/// In fault.cpp: one server is killed after a third of the time, and started again without data after two thirds.
std::vector<result> killed(options const&, progress const&);

/// Measures the order service of docs/examples/shop, whose orders hold a lock. The floor is the service without locks.
std::vector<result> orders(options const&, progress const&);

/// In serve.cpp: measures `redlock serve` with clients on persistent connections. The floor is the library in a
/// process.
std::vector<result> locks_over_http(options const&, progress const&);

/// Measures the cost of several resources at once, and the wait for a set while others lock its resources.
std::vector<result> sets(options const&, progress const&);

/// Measures one lock with many readers and few writers.
std::vector<result> shared(options const&, progress const&);

/// Measures a semaphore with eight permits under contention, in slots.cpp.
std::vector<result> slots_of_a_semaphore(options const&, progress const&);

/// Measures the other stores; the floor is a native client. Stores without an installed server are left out.
std::vector<result> stores(options const&, progress const&);

/// In versus/speed.cpp: measures the locks of other libraries beside this one.
std::vector<result> versus(options const&, progress const&);

/// In wake.cpp: measures the time from a release to the next holder, and the cost of waiting for a held lock.
std::vector<result> woken(options const&, progress const&);

}  // namespace redlock::bench
