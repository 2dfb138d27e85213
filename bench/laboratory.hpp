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

/// How long a node's vote is waited for: ten thousand at once are not answered within the 50 ms that suit a server.
std::chrono::milliseconds node_timeout(std::size_t clients);

/// @throws std::runtime_error if the options name servers of somebody else; it tells @p why that does not go
void need_own_servers(options const&, std::string const& scenario, std::string const& why = {});

/// Where the measurements of a scenario are made: its servers, and what is read off them.
class laboratory {
public:
    /// @p count servers of our own, unless @ref options::nodes names others.
    laboratory(options const&, progress, std::size_t count);

    fleet& servers() noexcept { return servers_; }
    options const& settings() const noexcept { return options_; }

    /// The servers' end of it @p runs; a process of ours that is not a server may be named in @p helper.
    /// Adds what the servers have done meanwhile.
    sample observe(std::function<sample()> const& runs);

    /** Measures in rounds: first @p floor, if there is one, then @p library. Rounds in which other processes took the
        processors are repeated, twice at most.
    */
    std::vector<round> rounds(std::string const& what, std::function<sample()> const& floor,
                              std::function<void(round&)> const& library);

    /// What came of rounds. @param has_floor  whether they had one
    result conclude(std::vector<round> const&, std::string scenario, std::string variant, std::size_t clients,
                    bool has_floor = true) const;

    /// A process of ours that is neither this one nor one of the servers, and its children.
    void count_in(pid_t helper) { helper_ = helper; }

private:
    double our_cpu_seconds() const;

    options const& options_;
    progress progress_;
    mutable fleet servers_;
    std::vector<int> const processors_;
    pid_t helper_ = 0;
};

}  // namespace redlock::bench
