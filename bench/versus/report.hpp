#pragma once

#include "versus/faults.hpp"
#include "versus/peers.hpp"
#include "versus/trial_result.hpp"

#include <map>
#include <string>
#include <vector>

namespace redlock::versus {

/// All peers, faults and trials of a run.
struct report {
    std::map<std::string, std::string> machine;
    std::vector<bench::peer> peers;  ///< also those that were left out
    std::vector<fault> faults;
    std::vector<trial_result> trials;
};

/// "ok", "3 lost", "1 key, no recovery".
std::string verdict(trial_result const&);

/// For people: a table of verdicts, one of recoveries, one of notices, and the remarks.
std::string to_table(report const&);

/// The peers with their versions, or why they are missing, and the faults.
std::string to_list(std::vector<bench::peer> const&, std::vector<fault> const&);

/// Everything, with definitions of the figures.
std::string to_json(report const&);

/// Whether no update was lost, and no key is left behind: the promise of locks with fencing tokens.
bool keeps_promise(trial_result const&);

}  // namespace redlock::versus
