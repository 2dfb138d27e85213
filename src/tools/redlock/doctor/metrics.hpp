#pragma once

#include "tools/redlock/doctor/facts.hpp"
#include "tools/redlock/doctor/finding.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli::doctor {

struct metrics_options {
    std::vector<std::string> skipped{};                         ///< names of checks
    std::chrono::sys_seconds ended{};                           ///< when the checks ended
    std::vector<std::pair<std::string, std::string>> labels{};  ///< added to each series
};

/// Splits "NAME=VALUE". Returns an empty name if metrics of the doctor must not have such a label.
std::pair<std::string, std::string> label_of(std::string_view text);

/** Findings, and a few numbers of the nodes, in the text format of Prometheus.

    Each check of each node always has a series. If a server does not answer, its remaining checks are UNKNOWN. A
    skipped check has no series, and its numbers have none.
*/
std::string to_prometheus(findings const&, std::vector<node_facts> const&, metrics_options const&);

}  // namespace redlock::cli::doctor
