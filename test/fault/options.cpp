#include "fault/options.hpp"

#include "tools/redlock/args/option_parser.hpp"

#include <limits>
#include <utility>

namespace redlock::test {

soak_options parse(std::vector<std::string> arguments)
{
    soak_options o;
    cli::option_parser line(
        "redlock_soak", "Adds to counters under the lock, on real servers, while servers, network and processes fail.");
    line.add_number("--seconds", o.seconds, 1, 1'000'000, "the duration");
    line.add_number("--seed", o.seed, 0, std::numeric_limits<std::uint64_t>::max(), "the seed of the faults");
    line.add_number("--processes", o.processes, 2, 16, "how many processes take the lock");
    line.add_number("--servers", o.servers, 1, 9, "how many servers to start");
    line.add_flag("--forgetful", o.forgetful,
                  "start servers without a log, so that a crash forgets: updates may then be lost, and are counted; "
                  "with --fencing and --transfers, only a minority of servers crashes at a time");
    line.add_list("--nodes", "URL", o.nodes, "use these running servers, and start none");
    line.add_list("--links", "NAME", o.links,
                  "the network interfaces to the servers of --nodes, which are set down and up");
    line.add_flag("--without-lock", o.without_lock,
                  "add without the lock: updates must be lost, or the check is blind; with --transfers, nothing fails, "
                  "and sums must be wrong");
    line.add_flag(
        "--fencing", o.fencing,
        "run half of the time without fencing tokens, and half with them; processes never check whether they "
        "still hold the lock. Without tokens, updates must be lost in runs of 10 s or more. With tokens, no update "
        "may be lost, and no stale operation accepted");
    line.add_flag("--transfers", o.transfers,
                  "instead: transfers between 50 accounts, each under a lock of two to five accounts; sometimes all "
                  "accounts are added up under a lock of all, and the sum must never be wrong");
    line.add_flag("--audit", o.audit,
                  "with --transfers: one lock, exclusive for transfers and shared for sums, so that several sums run "
                  "at the same time")
        ->needs("--transfers")
        ->excludes("--forgetful");  // the numbers of readers need durable counters
    line.add_text("--clock-shim", "FILE", o.clock_shim,
                  "with --fencing: step the wall clocks of some servers through this library, which is "
                  "preloaded into them");
    line.add_flag("--rolling", o.rolling,
                  "instead: a long hold while each server (at least 3) is restarted without memory; the lock must be "
                  "held to the end, and another lock without healing must be lost");
    line.add_text("--moving", "FILE", o.moving,
                  "instead: the set of nodes changes, one node at a time, while clients hold locks and draw tokens; "
                  "FILE is the redlock program that raises the counters. At least two changes");
    line.add_flag("--raise-early", o.raise_early,
                  "with --moving: raise only the counters of the new node, and before the clients move; tokens must "
                  "then fall")
        ->needs("--moving");
    line.read(std::move(arguments));
    return o;
}

}  // namespace redlock::test
