#pragma once

#include "versus/faults.hpp"
#include "versus/peers.hpp"
#include "versus/trial_result.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace redlock::versus {

struct planned_trial {
    bench::peer const* who;
    fault const* what;
};

struct how_to_run {
    std::size_t jobs = 4;  ///< trials at a time; a trial mostly waits
    std::chrono::milliseconds ttl{1000};
    std::function<void(std::string const&)> progress = [](auto&) {};
};

/** Runs each trial in a process of its own, so a crash ends only one trial.

    The caller must have no other thread. A trial that could not be run has a `failure`.

    @return the results in the order of @p plan
    @throws bench::interrupted after a signal, when all trials have stopped their servers
*/
std::vector<trial_result> run_trials(std::vector<planned_trial> const& plan, how_to_run const&);

}  // namespace redlock::versus
