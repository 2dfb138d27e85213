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

/// What it takes to start a command under a lock, beside one redis-cli for each node.
std::vector<result> command_under_lock(options const&, progress const&);

/// What each denied round of a waiting acquisition of many names costs the servers.
std::vector<result> denied(options const&, progress const&);

/// In fault.cpp: one of the servers is stopped for the middle third of the time, then it goes on.
std::vector<result> stalled(options const&, progress const&);

/// In fault.cpp: one of the servers is killed after a third of the time, and started again, empty, after two.
std::vector<result> killed(options const&, progress const&);

/// The order service of docs/examples/shop under load: orders that hold a lock, and as the floor the same without locks.
std::vector<result> orders(options const&, progress const&);

/// What several resources at once cost, and how long an acquisition of all waits while others want each of them alone.
std::vector<result> sets(options const&, progress const&);

/// One lock that nearly all clients share, and a few want alone.
std::vector<result> shared(options const&, progress const&);

/// A semaphore of eight, which many clients want.
std::vector<result> slots_of_a_semaphore(options const&, progress const&);

/// Locks in other stores than Redis, each beside its own native client. Stores whose servers are not here are left out.
std::vector<result> stores(options const&, progress const&);

/// How soon a waiter has a lock that another client gives up, and what waiting for a lock that stays held costs.
std::vector<result> woken(options const&, progress const&);

}  // namespace redlock::bench
