#pragma once

#include "stores/kit/connections.hpp"

#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>
#include <redlock/store.hpp>

#include <memory>

namespace redlock::stores::kit {

std::shared_ptr<node> make_database_node(database, manager_options const&, store_context);

}  // namespace redlock::stores::kit
