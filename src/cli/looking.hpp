#pragma once

#include "cli/lock_view.hpp"
#include "cli/settings.hpp"

#include <redlock/lock_manager.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/json/array.hpp>

#include <functional>
#include <string>
#include <vector>

namespace redlock::cli {

/// The settings of a manager that only looks at locks. It asks all nodes, also those that the settings would keep from
/// voting, and writes nothing.
settings for_looking(settings);

/// Asks all nodes about one lock.
/// @throws early_exit if the name is refused
asio::awaitable<lock_view> look_at(lock_manager&, std::string key, std::string_view command);

/// Lists all locks whose names match @p glob, and passes them on while pages arrive, until @p each returns false. The
/// memory does not depend on the number of locks.
/// @return all nodes, with the error of those that have not listed all their locks
/// @throws early_exit if the pattern is refused
asio::awaitable<std::vector<node_list_info>> list_all(lock_manager&, std::string glob, std::string_view command,
                                                      std::function<bool(std::vector<lock_view>)> each);

/// The fields name, complete and error of each node.
boost::json::array json_of(std::vector<node_list_info> const&);

}  // namespace redlock::cli
