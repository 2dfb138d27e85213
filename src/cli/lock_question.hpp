#pragma once

#include "cli/lock_answer.hpp"
#include "cli/servers.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>

namespace redlock::cli {

/// Asks @p all about the lock, and changes nothing on the servers.
/// @param key  without @p prefix
asio::awaitable<lock_answer> ask_about(servers& all, std::string prefix, std::string key);

}  // namespace redlock::cli
