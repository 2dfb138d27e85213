#pragma once

#include "fleet.hpp"
#include "floor.hpp"
#include "load.hpp"
#include "options.hpp"
#include "result.hpp"
#include "sample.hpp"
#include "scenarios.hpp"

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace redlock::bench {

/// @throws std::runtime_error with the reason @p why if the options name existing servers
void need_own_servers(options const&, std::string const& scenario, std::string const& why = {});

/// Measures a scenario: has its servers, reads their counters, and repeats disturbed rounds.
class laboratory {
public:
    /// Starts @p count servers, unless @ref options::nodes names existing ones.
    laboratory(options const&, progress, std::size_t count);

    fleet& servers() noexcept { return servers_; }
    options const& settings() const noexcept { return options_; }

    /// Calls @p runs, and adds the servers' counters for this time to its sample.
    sample observe(std::function<sample()> const& runs);

    /** Measures in rounds: first @p floor, if there is one, then @p library. A round in which other processes used the
        processors is repeated, at most twice.
    */
    std::vector<round> rounds(std::string const& what, std::function<sample()> const& floor,
                              std::function<void(round&)> const& library);

    /// The result of the rounds. @param has_floor  whether the rounds measured a floor
    result conclude(std::vector<round> const&, std::string scenario, std::string variant, std::size_t clients,
                    bool has_floor = true) const;

    /// Counts the processor time of @p helper and its children as ours. It is neither this process nor a server.
    void count_in(pid_t helper) { helpers_.push_back(helper); }

private:
    double our_cpu_seconds() const;

    options const& options_;
    progress progress_;
    mutable fleet servers_;
    std::vector<int> const processors_;
    std::vector<pid_t> helpers_;
};

}  // namespace redlock::bench
