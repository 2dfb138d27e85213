#pragma once

#include "cli/doctor/facts.hpp"
#include "cli/server.hpp"

namespace redlock::cli::doctor {

/// Looks at up to `demands::keys_max` keys of a server, whose INFO is known already if it tells it.
asio::awaitable<key_facts> look_at_keys(server&, node_facts const&, demands const&);

}  // namespace redlock::cli::doctor
