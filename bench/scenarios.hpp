#pragma once

#include "options.hpp"
#include "result.hpp"

#include <functional>
#include <string>
#include <vector>

namespace redlock::bench {

std::vector<std::string> scenario_names();

/// Called with what is being measured, before each measurement.
using progress = std::function<void(std::string const& what)>;

/// @throws std::runtime_error if a scenario cannot be run, or a server fails
std::vector<result> run_scenario(std::string const& name, options const&, progress const&);

// Each scenario has a file of its name.

/// Measures how long a command takes to start under a lock, beside one redis-cli for each node.
std::vector<result> command_under_lock(options const&, progress const&);

/// Measures the servers' work for each denied round of a waiting acquisition of many names.
std::vector<result> denied(options const&, progress const&);

/// In fault.cpp: one of the servers is stopped for the middle third of the time, then it goes on.
std::vector<result> stalled(options const&, progress const&);

/// In fault.cpp: one of the servers is killed after a third of the time, and started again, empty, after two.
std::vector<result> killed(options const&, progress const&);

/// The order service of docs/examples/shop under load: orders hold a lock; the floor is the same without locks.
std::vector<result> orders(options const&, progress const&);

/// Measures the cost of several resources at once, and the wait of such a set while others want its resources.
std::vector<result> sets(options const&, progress const&);

/// One lock that nearly all clients share, and a few want alone.
std::vector<result> shared(options const&, progress const&);

/// A semaphore of eight, which many clients want.
std::vector<result> slots_of_a_semaphore(options const&, progress const&);

/// Locks in other stores than Redis, each beside its own native client. Stores whose servers are not here are left out.
std::vector<result> stores(options const&, progress const&);

/// Measures how soon a waiter has a lock that another client gives up, and the cost of waiting for a held lock.
std::vector<result> woken(options const&, progress const&);

}  // namespace redlock::bench
