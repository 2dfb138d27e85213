#pragma once

#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>

#include <memory>
#include <string>

namespace redlock::stores::memory {

/// A node that connects a manager with the `memory_server` called @p name.
/// @param clock the clock of this node, and from now on of the server; empty: the system's clock
std::shared_ptr<node> make_memory_connection(std::string const& name, std::shared_ptr<testing::manual_clock> clock);

}  // namespace redlock::stores::memory
