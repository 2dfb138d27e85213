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
    bool ended = false;        ///< by the server: nothing of it is carried out any more
    bool tracks_next = false;  ///< what the next command reads: it asked to hear of changes
    bool listens = false;      ///< to all changes
    std::function<void(std::string const& key)> tell;
};

}  // namespace redlock::sim
