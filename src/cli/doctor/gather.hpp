#pragma once

#include "cli/doctor/facts.hpp"

#include <redlock/config.hpp>

#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

namespace redlock::cli::doctor {

namespace asio = boost::asio;

/** Looks at all nodes at once, for two seconds or so if they answer.

    It writes a few keys that begin with the prefix and the name of the probe, and deletes them.
    @throws std::invalid_argument if a node's address, or another setting, is broken
*/
asio::awaitable<std::vector<node_facts>> look_at_all(redlock::config, demands);

}  // namespace redlock::cli::doctor
