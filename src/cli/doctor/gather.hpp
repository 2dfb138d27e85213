#pragma once

#include "cli/doctor/facts.hpp"
#include "cli/server.hpp"

#include <redlock/config.hpp>

#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

namespace redlock::cli::doctor {

/** Looks at all nodes at once, for two seconds or so if they answer.

    It writes a few keys that begin with the prefix and the name of the probe, and deletes them.
    @throws std::invalid_argument if a node's address, or another setting, is broken
*/
asio::awaitable<std::vector<node_facts>> gather_all(redlock::config, demands);

/// Locks on one node alone, by the library: acquires, extends, waits, releases, and what else `demands::used` says.
/// @throws std::invalid_argument if the settings are broken
asio::awaitable<probe_facts> probe(std::string url, redlock::config, demands);

/// The votes of all nodes, as a new manager with the settings of the call counts them. The manager acquires nothing. It
/// leaves two keys on a server, as every manager does: the life marker and its settings.
/// @throws std::invalid_argument if the settings are broken
asio::awaitable<std::vector<vote_facts>> ask_for_votes(redlock::config, demands);

/// The commands that delete what fencing tokens of the probe leave on a server: one for each key, as the keys may be in
/// different slots. None, if the name is not the doctor's own: a counter of somebody else's lock that begins anew hands
/// out tokens that were there before.
std::vector<std::vector<std::string>> delete_counters(demands const&);

/// Looks at up to `demands::keys_max` keys of a server, whose INFO is known already if it tells it.
asio::awaitable<key_facts> look_at_keys(server&, node_facts const&, demands const&);

}  // namespace redlock::cli::doctor
