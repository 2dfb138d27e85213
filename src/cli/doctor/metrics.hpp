#pragma once

#include "cli/doctor/facts.hpp"
#include "cli/doctor/finding.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli::doctor {

struct metrics_options {
    std::vector<std::string> skipped{};                         ///< names of checks
    std::chrono::sys_seconds ended{};                           ///< when the look ended
    std::vector<std::pair<std::string, std::string>> labels{};  ///< on each series
};

/// The name and the value of "NAME=VALUE"; an empty name: it is not one that metrics of the doctor may have.
std::pair<std::string, std::string> label_of(std::string_view text);

/** Findings, and a few numbers of the nodes, in the text format of Prometheus.

    Each check of each node is a series from the start. If the server does not answer, its checks that were not reached
    are UNKNOWN. A check that was skipped has no series, and its numbers have none.
*/
std::string to_prometheus(findings const&, std::vector<node_facts> const&, metrics_options const&);

}  // namespace redlock::cli::doctor
