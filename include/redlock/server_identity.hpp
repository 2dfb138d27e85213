#pragma once

#include <redlock/clock.hpp>

namespace redlock {

/// A node's knowledge of the server behind its connection. The defaults are right for a server that forgets nothing.
struct server_identity {
    bool durable = true;        ///< Whether it remembers its keys over a restart, always.
    bool restarted = false;     ///< Whether this manager knew the server before it last started.
    clock::time_point began{};  ///< It has been running since then at the latest.
};

}  // namespace redlock
