#pragma once

#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/locks/lock_source.hpp"
#include "tools/redlock/args/settings.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace redlock::cli {

/** Runs @p body with the nodes, or with the service, that the settings name.

    @param command  for messages, such as "list"
    @return the result of @p body
    @throws early_exit if the settings are invalid
    @throws any exception of @p body
*/
int with_source(settings const&, std::string const& command,
                std::function<asio::awaitable<int>(lock_source&)> const& body);

/// Refuses an option that a service cannot honour, if the settings name a service.
/// @throws early_exit
void must_have_nodes(command_line const&, settings const&, std::string_view option);

/// Refuses global options of an acquisition that a service cannot honour.
/// @throws early_exit
void must_suit_service(command_line const&, settings const&);

}  // namespace redlock::cli
