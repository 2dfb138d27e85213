#pragma once

#include "cli/doctor/facts.hpp"

#include <redlock/config.hpp>

#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

namespace redlock::cli::doctor {

namespace asio = boost::asio;

/// Locks on one node alone, by the library: acquires, extends, waits, releases, and what else `demands::used` says.
/// @throws std::invalid_argument if the settings are broken
asio::awaitable<probe_facts> probe(std::string url, redlock::config, demands);

/// The votes of all nodes, as a new manager with the settings of the call counts them. The manager acquires nothing. It
/// leaves two keys on a server, as every manager does: the life marker and its settings.
/// @throws std::invalid_argument if the settings are broken
asio::awaitable<std::vector<vote_facts>> ask_for_votes(redlock::config, demands);

/// The commands that delete what fencing tokens of the probe leave on a server: one for each key, as the keys may be in different slots. None, if the
/// name is not the doctor's own: a counter of somebody else's lock that begins anew hands out tokens that were there before.
std::vector<std::vector<std::string>> delete_counters(demands const&);

}  // namespace redlock::cli::doctor
