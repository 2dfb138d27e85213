#pragma once

#include "tools/redlock/args/exit_status.hpp"

#include <redlock/report.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace redlock::cli {

/// The exit status for the result of an operation.
exit_status status_of(attempt_report const&);

/// Why a node does not vote, if waiting cannot help.
struct lasting_cause {
    exit_status status;
    std::string_view way_out;
};

/// @return nothing if the node votes, or if waiting may help
std::optional<lasting_cause> lasting_cause_of(node_report const&);

/// Whether the resolver has answered that there is no such host.
bool is_unknown_host(node_report const&);

/** The exit status of an operation that ends because too few nodes vote and waiting cannot help.

    @param lasts  called for each node with a lasting cause; if it returns false, the node does not count
    @return nothing if the other nodes are a majority
*/
std::optional<exit_status> lasting_status_of(
    std::span<node_report const>, std::function<bool(node_report const&)> const& lasts = [](auto&) { return true; });

/// The ways out of all lasting causes, to append to a message: "; name each server once". Empty: there are none.
std::string ways_out(std::span<node_report const>);

}  // namespace redlock::cli
