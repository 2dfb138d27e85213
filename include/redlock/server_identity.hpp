#pragma once

#include <redlock/clock.hpp>

namespace redlock {

/// What a node knows about the server behind its connection. A server that forgets nothing needs no more than the
/// defaults.
struct server_identity {
    bool durable = true;        ///< Whether it remembers its keys over a restart, always.
    bool restarted = false;     ///< Whether this manager knew the server before it last started.
    clock::time_point began{};  ///< It has been running since then at the latest.
};

}  // namespace redlock
