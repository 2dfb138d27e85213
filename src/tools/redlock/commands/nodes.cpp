// redlock nodes: prepares a set of nodes for its first lock, and moves counters when the set changes.

#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/commands/nodes_init.hpp"
#include "tools/redlock/commands/nodes_move.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace redlock::cli {

int nodes(arguments given)
{
    command_line line(
        "nodes",
        "init: let a set of new nodes vote at once, before the first lock of the prefix. All nodes must answer and be "
        "new. Run it once, where you set up the servers; if all nodes vote already, it changes nothing.\n"
        "move: raise the counters of fencing tokens on every node of a new set of nodes, to the highest of a "
        "majority of the old set, so that tokens continue to increase. No counter is ever lowered.",
        "Run move when the last client has left the old set, also if it was run before. Change one "
        "node at a time; if all clients are stopped, any number (docs/protocol.md, \"Changing the set of nodes\").\n"
        "Status of init: 0 all nodes vote, founded now or before; 1 the set is not new: a node has a record of "
        "locks or a lock, or has restarted; 69 a node does not answer; 77 a node refuses; 78 configuration.\n"
        "Status of move: 0 every node of the new set is as high as the old set; 1 with --dry-run, some are "
        "lower; 64 the sets differ by more than one node; 69 no majority of the old set, or not every "
        "node of the new set, answered; 77 because they refuse; 78 no counter has this prefix, but "
        "others have.");
    std::string action;
    move_order o;
    line.add_option("ACTION", action, "init or move")->required()->check(CLI::IsMember({"init", "move"}));
    line.add_urls("--from", o.from, "move: the nodes of the old set");
    line.add_urls("--to", o.to, "move: the nodes of the new set");
    line.add_flag("--stopped", o.stopped,
                  "move: all clients are stopped, so the sets may differ by any number of nodes");
    line.add_flag("--dry-run", o.dry_run, "move: raise nothing; print how many counters are lower");
    if (std::ranges::find(given, "move") != given.end())
        line.may_do_without_nodes();
    auto s = line.read(std::move(given));
    bool const moves = action == "move";
    if (moves && (o.from.empty() || o.to.empty()))
        line.refuse("name both sets: --from URL,… --to URL,…");
    if (!moves && (!o.from.empty() || !o.to.empty() || o.stopped || o.dry_run))
        line.refuse("--from, --to, --stopped and --dry-run are options of move; name the new nodes with --url");
    return moves ? move_nodes(std::move(s), o) : init_nodes(std::move(s));
}

}  // namespace redlock::cli
