#pragma once

#include "tools/redlock/args/settings.hpp"

namespace redlock::cli {

/// Founds the set of nodes: see `lock_manager::async_found`. Refuses if a node has a lock with the prefix.
/// @return the exit status. @throws early_exit
int init_nodes(settings);

}  // namespace redlock::cli
