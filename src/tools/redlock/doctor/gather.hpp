#pragma once

#include "tools/redlock/doctor/facts.hpp"
#include "tools/redlock/server/server.hpp"

#include <redlock/manager_options.hpp>

#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

namespace redlock::cli::doctor {

/** Collects the facts about all nodes at the same time. It takes about two seconds if the nodes answer.

    It writes a few keys that begin with the prefix and the name of the probe, and deletes them.
    @throws std::invalid_argument if a node's address or another setting is invalid
*/
asio::awaitable<set_facts> gather_all(redlock::manager_options, demands);

/// Locks on one node alone with the library: acquires, extends, waits, releases, and tests the features of
/// `demands::used`.
/// @throws std::invalid_argument if the settings are invalid
asio::awaitable<probe_facts> probe(std::string url, redlock::manager_options, demands);

/// Starts a manager with the settings of the call, and returns which nodes vote for it. The manager acquires nothing.
/// Like every manager, it leaves two keys on a server: the record of the server's memory, and its settings.
/// @throws std::invalid_argument if the settings are invalid
asio::awaitable<std::vector<vote_facts>> ask_for_votes(redlock::manager_options, demands);

/// Reads which processes wait for locks, from up to `demands::keys_max` locks.
/// @throws std::invalid_argument if the settings are invalid
asio::awaitable<waits> ask_for_waits(redlock::manager_options, demands);

/// The commands that delete the fencing token counters of the probe: one for each key, because the keys may be in
/// different slots. The list is empty unless the probe's name begins with "=doctor". With another name, the counter may
/// be another client's, and would repeat old tokens after it was deleted.
std::vector<std::vector<std::string>> delete_counters(demands const&);

/// Reads up to `demands::keys_max` keys of a server. The facts should already have its INFO.
asio::awaitable<key_facts> look_at_keys(server&, node_facts const&, demands const&);

}  // namespace redlock::cli::doctor
