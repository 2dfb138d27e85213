#pragma once

#include "stores/zookeeper/address.hpp"

#include <redlock/config.hpp>
#include <redlock/node.hpp>
#include <redlock/store.hpp>

#include <memory>

namespace redlock::zk {

std::shared_ptr<node> make_zookeeper_node(address, config const&, store_context);

}  // namespace redlock::zk
