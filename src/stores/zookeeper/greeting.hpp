#pragma once

#include "stores/zookeeper/transport.hpp"
#include "stores/zookeeper/layout.hpp"

#include <redlock/node.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace redlock::stores::zookeeper {

/// The state of an ensemble, as a new connection finds it.
struct greeting {
    node_reply why{};       ///< with an error: why it cannot vote
    std::string id{};       ///< of the ensemble and the folder in it
    std::int64_t zxid = 0;  ///< its latest change
    int version = 0;        ///< of the session's node, after this greeting
};

/// Makes this connection the one that counts: the ensemble ignores late requests of earlier connections. Creates
/// missing nodes.
/// @p fresh_id: the id of an ensemble that has none. Empty: the connection only reads, and changes nothing.
asio::awaitable<greeting> greet(std::shared_ptr<transport>, layout, std::string fresh_id);

}  // namespace redlock::stores::zookeeper
