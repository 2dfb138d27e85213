#pragma once

#include "tools/redlock/locks/wait_graph.hpp"

#include <redlock/inspect.hpp>
#include <redlock/lock_manager.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// The processes that wait for locks.
struct waits {
    wait_graph graph{};
    bool is_all = true;  ///< false: locks may be missing
    std::vector<node_list_info> nodes{};
};

/// Reads which processes wait for locks whose names match @p glob.
/// @param command  the name of the command, for its messages
/// @param locks_max  how many locks to read
/// @throws early_exit if the pattern is refused
asio::awaitable<waits> read_waits(lock_manager&, std::string glob, std::string_view command,
                                  std::size_t locks_max = std::numeric_limits<std::size_t>::max());

}  // namespace redlock::cli
