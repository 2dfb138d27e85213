#pragma once

#include <redlock/config.hpp>
#include <redlock/node.hpp>

#include <memory>
#include <string>

namespace redlock::inline v0 {

/// A manager's way to the `memory_server` called @p name.
/// @param clock by which it goes, and from now on the server; empty: the system's
std::shared_ptr<node> make_memory_connection(std::string const& name, std::shared_ptr<testing::manual_clock> clock);

}  // namespace redlock
