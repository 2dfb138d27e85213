#pragma once

#include <string>
#include <vector>

namespace redlock::cli {

/** The locks of one `redlock run`. Inner runs, which its command starts, find them in @ref outer_runs_variable.

    The variable has one line for each lock. Its words are: the process id, the start time of the process, "shared" or
    "alone", the percent-encoded key with its prefix, and the sorted names of the nodes.
*/
struct run_locks {
    std::vector<std::string> keys{};   ///< with the prefix
    std::vector<std::string> nodes{};  ///< the names of the nodes
    bool is_shared = false;
};

inline constexpr char outer_runs_variable[] = "REDLOCK_RUNS";

/// The value of the variable for the command of this process: the lines of outer runs that have not ended, and the
/// lines of @p ours.
std::string lines_for_inner_runs(run_locks ours);

/// Whether outer runs hold a key on the same nodes, and in which mode.
struct outer_hold {
    bool is_held = false;
    bool is_alone = false;  ///< one of these runs holds it exclusively
};

/** Looks for outer runs that hold @p key on @p nodes and have not ended.

    Runs in another PID namespace are invisible to this process, and do not count.
*/
outer_hold held_by_outer_runs(std::string const& key, std::vector<std::string> nodes);

}  // namespace redlock::cli
