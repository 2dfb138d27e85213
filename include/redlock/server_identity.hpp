#pragma once

#include <redlock/clock.hpp>

namespace redlock::inline v1 {

/** Facts that a node knows about the memory of the server behind its connection. The defaults are right for a server
    that never forgets.

    The server votes `manager_options::max_ttl` after @ref began, and not before @ref waits_until. A founded server does
   not wait for the first of these.
*/
struct server_identity {
    bool durable = true;  ///< Whether the server never forgets a lock. Then the other members do not matter.
    /// Whether other clients may have met the server before @ref began : it has restarted, was promoted or has lost
    /// keys.
    bool restarted = false;
    bool promoted = false;  ///< Whether the cause was a promotion: the server was a replica. Only messages differ.
    /// Whether the server's record says that it is new to the prefix. For @ref manager_options::max_ttl after @ref
    /// began, a manager may found a set of such servers: @ref commands::found .
    bool fresh = false;
    bool founded = false;       ///< Whether a manager has founded the server.
    clock::time_point began{};  ///< The latest time from which on the server has kept every lock.
    /// The server's log was switched off. If the server restarted before this time, clients would believe it to have
    /// kept every lock.
    clock::time_point waits_until{};

    /// Whether all members are equal.
    friend bool operator==(server_identity const&, server_identity const&) = default;
};

}  // namespace redlock
