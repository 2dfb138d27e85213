#pragma once

#include <string>
#include <vector>

namespace redlock::cli {

/** The locks of one `redlock run`, for the runs inside of it: lines of the variable @ref outer_runs_variable.

    A line has words: the process, its start, "shared" or "alone", the key with its prefix as a part of a URL, and the
    sorted names of the nodes.
*/
struct run_locks {
    std::vector<std::string> keys{};   ///< with the prefix
    std::vector<std::string> nodes{};  ///< names
    bool is_shared = false;
};

inline constexpr char outer_runs_variable[] = "REDLOCK_RUNS";

/// The value for the command of this process: the lines of the outer runs that have not ended, and of @p ours.
std::string lines_for_inner_runs(run_locks ours);

/// How outer runs hold a key on the same nodes.
struct outer_hold {
    bool is_held = false;
    bool is_alone = false;  ///< one of them does not share it
};

/** Looks for runs that hold @p key on @p nodes and have not ended.

    A run of another PID namespace cannot be seen, and does not count.
*/
outer_hold held_by_outer_runs(std::string const& key, std::vector<std::string> nodes);

}  // namespace redlock::cli
