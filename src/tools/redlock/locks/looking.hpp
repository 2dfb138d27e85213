#pragma once

#include "tools/redlock/locks/lock_view.hpp"
#include "tools/redlock/args/settings.hpp"

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

/// See @ref lock_source::look_at.
asio::awaitable<lock_view> look_at(lock_manager&, std::string key, std::string_view command);

/// See @ref lock_source::list_all.
asio::awaitable<std::vector<node_list_info>> list_all(lock_manager&, std::string glob, std::string_view command,
                                                      std::function<bool(std::vector<lock_view>)> each);

/// The states of locks in a list, without keys that are no locks.
std::vector<lock_view> views_of(std::vector<lock_info>);

/// Adds what the nodes have told on the next page of a list.
void add_errors(std::vector<node_list_info>& to, std::vector<node_list_info> page);

/// The fields name, complete and error of each node.
boost::json::array json_of(std::vector<node_list_info> const&);

}  // namespace redlock::cli
