#pragma once

#include "locks/manager_state.hpp"
#include "quorum/grant.hpp"

#include <redlock/lock_ticket.hpp>

#include <memory>
#include <string>

namespace redlock::inline v0::locks {

/// What another process may have set.
std::shared_ptr<quorum::grant> grant_of(lock_ticket const&, manager_state const&);

/// Which node cannot do what is needed to go on with it, and what, for people; empty if each can.
std::string const& lack(lock_ticket const&, quorum::node_set const&);

}  // namespace redlock::locks
