#pragma once

#include "runtime/runtime.hpp"

#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>

#include <memory>
#include <vector>

namespace redlock::stores {

/// Makes the nodes of `manager_options::nodes`, and does not start them. It is the only place in the manager's code
/// that knows Redis and other stores.
/// @param runtime for the Redis nodes; null: each makes its own
/// @throws std::invalid_argument that names the wrong URL, without its password
std::vector<std::shared_ptr<node>> make_nodes(manager_options const&, std::shared_ptr<runtime::runtime> runtime = {});

}  // namespace redlock::stores
