#pragma once

#include "tools/doctor/facts.hpp"
#include "tools/server.hpp"

namespace redlock::tools::doctor {

/// Looks at up to `demands::keys_max` keys of a server, whose INFO is known already if it tells it.
asio::awaitable<key_facts> look_at_keys(server&, node_facts const&, demands const&);

}  // namespace redlock::tools::doctor
