#pragma once

#include "cli/wait_graph.hpp"

#include <redlock/error.hpp>
#include <redlock/lock_manager.hpp>
#include <redlock/report.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace redlock::cli {

/// The processes that wait for locks.
struct waits {
    wait_graph graph{};
    bool is_all = true;  ///< false: locks may be missing
    error_code error{};  ///< of the list of locks
    std::vector<node_list_info> nodes{};
};

/// Reads which processes wait for locks whose names match @p pattern. @param locks_max  how many locks to read
asio::awaitable<waits> read_waits(lock_manager&, std::string pattern, std::size_t locks_max);

}  // namespace redlock::cli
