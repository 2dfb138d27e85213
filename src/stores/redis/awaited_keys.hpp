#pragma once

#include <redlock/node.hpp>

#include <string>
#include <vector>

namespace redlock::stores::redis {

/// The keys for whose changes the caller of an operation waits that was answered with @p r, if the operation watches.
/// All of them existed when the server answered.
std::vector<std::string> awaited_keys(node_command const&, node_reply const& r);

}  // namespace redlock::stores::redis
