#pragma once

#include "net/url.hpp"
#include "stores/redis/inquiry.hpp"
#include "stores/redis/redis_node.hpp"

#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>

#include <memory>

namespace redlock::stores::redis {

/// A cluster that votes as one node. It passes each operation to the node of the master that owns the key's slot.
std::shared_ptr<node> make_cluster_node(net::url const&, manager_options const&, std::shared_ptr<group>,
                                        transport_factory);

}  // namespace redlock::stores::redis
