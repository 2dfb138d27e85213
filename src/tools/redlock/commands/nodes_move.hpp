#pragma once

#include "tools/redlock/args/settings.hpp"

#include <string>
#include <vector>

namespace redlock::cli {

/// The options of `redlock nodes move`.
struct move_order {
    std::vector<std::string> from{}, to{};
    bool stopped = false;
    bool dry_run = false;
};

/// Raises the counters of fencing tokens on every node of the new set.
/// @return the exit status. @throws early_exit
int move_nodes(settings, move_order const&);

}  // namespace redlock::cli
