#pragma once

#include <redlock/node.hpp>

#include <memory>
#include <string>

namespace redlock {

/// A manager's way to the `memory_node` called @p name.
std::shared_ptr<node> make_memory_connection(std::string const& name);

}  // namespace redlock
