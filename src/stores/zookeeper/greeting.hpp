#pragma once

#include "stores/zookeeper/client.hpp"
#include "stores/zookeeper/layout.hpp"

#include <redlock/node.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace redlock::stores::zookeeper {

/// What is learned of an ensemble over a new connection.
struct greeting {
    node_reply why{};       ///< with an error: why it cannot vote
    std::string id{};       ///< of the ensemble, and the folder in it
    std::int64_t zxid = 0;  ///< its latest change
    int version = 0;        ///< that the node of the session has now
};

/// Makes the connection the one that counts: what was sent on an earlier one does nothing any more. Makes what is
/// missing.
/// @p fresh_id: what the ensemble gets if it has none
asio::awaitable<greeting> greet(std::shared_ptr<client>, layout, std::string fresh_id);

}  // namespace redlock::stores::zookeeper
