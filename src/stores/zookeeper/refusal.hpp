#pragma once

#include <redlock/node.hpp>

#include <string_view>

namespace redlock::stores::zookeeper {

/// Why something was not carried out, or perhaps was: what the code of ZooKeeper's C client means. @p words: what else
/// is known.
node_reply refusal(int code, std::string_view words = {});

}  // namespace redlock::stores::zookeeper
