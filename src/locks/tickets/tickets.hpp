#pragma once

#include "locks/manager_state.hpp"
#include "quorum/grant.hpp"

#include <redlock/lock_ticket.hpp>

#include <memory>
#include <string>

namespace redlock::inline v1::locks {

/// The grant of a ticket: the keys that another process may have set.
std::shared_ptr<quorum::grant> grant_of(lock_ticket const&, manager_state const&);

/// Which node cannot release the ticket, and why, for people; empty: each node can.
std::string const& lack(lock_ticket const&, quorum::node_set const&);
/// Which node cannot resume the ticket in the way of these options, and why; empty: each node can.
std::string const& lack(lock_ticket const&, acquire_options const&, quorum::node_set const&);

}  // namespace redlock::locks
