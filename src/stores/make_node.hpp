#pragma once

#include "runtime/runtime.hpp"

#include <redlock/config.hpp>
#include <redlock/node.hpp>

#include <memory>
#include <vector>

namespace redlock::inline v0 {

/// The nodes that `config::nodes` names, not started; those of Redis live by @p runtime, or each by one of its own. The
/// one place where the manager's world meets that of Redis, and of other stores.
/// @throws std::invalid_argument naming the URL that is wrong, without its password.
std::vector<std::shared_ptr<node>> make_nodes(config const&, std::shared_ptr<runtime::runtime> runtime = {});

}  // namespace redlock
