#pragma once

#include "support/resp_commands.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace redlock::sim {

using test::command;

/// A connection, as the server sees it.
struct client {
    std::uint64_t id = 0;
    bool ended = false;        ///< by the server, which carries out nothing more of it
    bool tracks_next = false;  ///< the client asked to be notified about the keys of the next command
    bool listens = false;      ///< gets notifications of all changes
    std::function<void(std::string const& key)> tell;
};

}  // namespace redlock::sim
