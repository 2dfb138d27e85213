#include "fault/options.hpp"

#include "cli/option_parser.hpp"

#include <limits>
#include <utility>

namespace redlock::test {

soak_options parse(std::vector<std::string> arguments)
{
    soak_options o;
    cli::option_parser line("redlock_soak",
                            "Adds to counters through the lock, on real servers, while everything around fails.");
    line.add_number("--seconds", o.seconds, 1, 1'000'000, "how long");
    line.add_number("--seed", o.seed, 0, std::numeric_limits<std::uint64_t>::max(), "of the faults");
    line.add_number("--processes", o.processes, 2, 16, "that take the lock");
    line.add_number("--servers", o.servers, 1, 9, "that are started");
    line.add_flag("--forgetful", o.forgetful,
                  "the servers keep no log, so that a crash forgets: updates may then be lost, and are counted; "
                  "with --fencing and --transfers, no more crash at a time than may");
    line.add_list("--nodes", "URL", o.nodes, "servers that are there already, and …");
    line.add_list("--links", "NAME", o.links, "… the network interfaces that lead to them, which are set down and up");
    line.add_flag("--without-lock", o.without_lock,
                  "updates must then be lost, or the check is blind; with --transfers nothing fails, and "
                  "sums must be wrong");
    line.add_flag("--fencing", o.fencing,
                  "half of the time without fencing tokens, half with them, for processes that never look whether the "
                  "lock is still theirs: without, updates must be lost in 10 s or more; with, none, and nothing "
                  "stale be accepted");
    line.add_flag("--transfers", o.transfers,
                  "instead: transfers between 50 accounts, each under a lock of two to five, and now and then "
                  "a sum under a lock of all, which must never be wrong");
    line.add_flag("--audit", o.audit,
                  "with --transfers: one lock, which transfers have alone and sums share, so that several add up "
                  "beside each other")
        ->needs("--transfers")
        ->excludes("--forgetful");  // the numbers of readers need durable counters
    line.add_text("--clock-shim", "FILE", o.clock_shim,
                  "with --fencing: step the wall clocks of some servers through this library, which is "
                  "preloaded into them");
    line.add_flag("--rolling", o.rolling,
                  "instead: a long hold while each of the servers, 3 at least, is restarted without memory, for as "
                  "long as that takes; it must be held to the end, and another without healing be lost");
    line.add_text("--moving", "FILE", o.moving,
                  "instead: the set of nodes changes, one at a time, while locks are held and tokens drawn; this "
                  "redlock raises the counters. Two changes at least");
    line.add_flag("--raise-early", o.raise_early,
                  "with --moving: the counters of the new node are raised before clients move, and no others; tokens "
                  "must then fall")
        ->needs("--moving");
    line.read(std::move(arguments));
    return o;
}

}  // namespace redlock::test
