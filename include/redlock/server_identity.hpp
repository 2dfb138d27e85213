#pragma once

#include <redlock/clock.hpp>

namespace redlock::inline v0 {

/// Facts that a node knows about the server behind its connection. The defaults are right for a server that never
/// forgets.
struct server_identity {
    bool durable = true;        ///< Whether the server always keeps its keys over a restart.
    bool restarted = false;     ///< Whether this manager knew the server before its last start.
    clock::time_point began{};  ///< The latest time at which the server may have started.
};

}  // namespace redlock
