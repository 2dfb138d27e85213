#pragma once

#include "locks/manager_state.hpp"
#include "quorum/round.hpp"

#include <redlock/inspect.hpp>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::inline v1::locks {

/// A command that inspects @p resource on all nodes. If @p watch is set, they notify of the next change.
quorum::round_command to_inspect(manager_state const&, std::string_view resource, bool watch = false);

/// The answers of the nodes to such a command.
lock_info summary_of(quorum::round const& answers, std::string_view resource);

/// Whether a majority of the nodes has answered.
bool is_known(lock_info const&);

/// The mode and the value of a client's hold.
using hold = std::pair<mode, std::string>;

/// The exclusive hold that a majority of the nodes names, if there is one.
std::set<hold> exclusive_hold(lock_info const&);

/// The holds that a majority of the nodes names: of one client, or of the readers that are known.
std::set<hold> holds_in(lock_info const&);

}  // namespace redlock::locks
