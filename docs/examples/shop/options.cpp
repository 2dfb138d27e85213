#include "options.hpp"

#include "tools/redlock/args/node_urls.hpp"
#include "tools/redlock/args/option_parser.hpp"

#include <utility>

namespace shop {

using namespace std::chrono_literals;

namespace {

constexpr char about[] = "An order service on http://127.0.0.1, whose orders hold a lock for the item that they sell. "
                         "Open its address in a browser.";

constexpr char notes[] =
    R"(SIGTERM and Ctrl-C: no new orders; those under way end, or are cancelled after two seconds; all locks are released.
Exit status: 0, 1 if something failed, 64 for a wrong option.)";

}  // namespace

options parse(std::vector<std::string> arguments)
{
    options o;
    o.how.database = ":memory:";
    o.how.locks.fencing = true;
    redlock::cli::option_parser line("redlock_shop", about, notes);
    line.add_number("--port", o.port, 0, 65535, "0: any that is free");
    line.add_nodes(o.how.locks.nodes, "the lock servers",
                   "$REDLOCK_NODES; without that, or with --demo, five are started (redis-server, or $REDLOCK_SERVER)");
    line.add_text("--database", "FILE", o.how.database, "SQLite; processes that share it share the stock (:memory:)");
    line.add_number("--stock", o.pieces, 1, 1'000'000, "pieces of each item in a new database");
    line.add_flag("--demo", o.demo,
                  "the page may stop and kill the servers that were started, and restock; orders take a while");
    line.add_duration("--work", o.how.work, 0ms, 1min,
                      "what an order takes beside the database (none; 700ms with --demo)");
    line.add_duration("--ttl", o.how.ttl, 100ms, 5s, "of a lock, which is renewed (500ms with --demo)");
    line.add_duration("--node-timeout", o.how.locks.node_timeout, 1ms, 4s,
                      "how long one lock server is waited for, below the ttl");
    line.add_duration("--timeout", o.how.request_timeout, 1ms, 10min, "of a request, at most");
    line.add_number("--connections", o.how.connections_max, 1, 100'000,
                    "at a time; the others wait until one has gone");
    line.add_number("--threads", o.threads, 1, 256, "that serve");
    line.add_flag("!--no-fencing", o.how.locks.fencing,
                  "without fencing tokens, which need Redis 6.2 or newer, or Valkey");
    line.add_flag("--no-locks", o.how.unguarded, "without locks, to compare");
    line.read(std::move(arguments));

    if (o.demo && !o.how.locks.nodes.empty())
        line.refuse("--demo stops and kills servers, so it does not go with --nodes");
    if (!o.demo && o.how.locks.nodes.empty())
        o.how.locks.nodes = redlock::cli::urls_in_environment();
    // With these times, users see renewals and losses of locks while an order is in progress.
    if (o.demo && line.count("--work") == 0)
        o.how.work = 700ms;
    if (o.demo && line.count("--ttl") == 0)
        o.how.ttl = 500ms;
    return o;
}

}  // namespace shop
