#pragma once

#include "stores/etcd/address.hpp"
#include "stores/etcd/transport.hpp"

#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>
#include <redlock/store.hpp>

#include <memory>

namespace redlock::stores::etcd {

std::shared_ptr<node> make_etcd_node(address, manager_options const&, store_context, surroundings = {});

}  // namespace redlock::stores::etcd
