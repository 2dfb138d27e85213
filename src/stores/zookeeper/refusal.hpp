#pragma once

#include <redlock/node.hpp>

#include <string_view>

namespace redlock::stores::zookeeper {

/// The reply for a code of ZooKeeper's C client. It says whether the server may have carried out the request. @p words:
/// further details.
node_reply refusal(int code, std::string_view words = {});

}  // namespace redlock::stores::zookeeper
