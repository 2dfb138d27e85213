#include "options.hpp"

#include "tools/redlock/args/node_urls.hpp"
#include "tools/redlock/args/option_parser.hpp"
#include "net/url.hpp"
#include "scenarios.hpp"
#include "bed/local_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace redlock::bench {

namespace {

using namespace std::chrono_literals;

constexpr char about[] =
    R"(Measures locks on Redis servers, which it starts itself. In the same rounds it measures the floor: a raw client
that sends the same commands and only counts the replies. Times differ between machines; ratios to the floor differ
little.

Scenarios (default: uncontended and stalled; "all": each of them but versus):
  uncontended  each client locks and unlocks a key of its own                     (256 clients, and 1)
  contended    all clients compete for one key and hold it for --hold             (32 clients)
  crowded      contended, with the clients in --processes processes               (32 clients, or one for each)
  woken        another process releases a lock that clients wait for, or keeps it    (1 waiter, and 32)
  renew        --locks locks are held and renewed
  stalled      one node is stopped for the middle third of the time              (256 clients)
  killed       one node is killed instead, and started again without its data     (256 clients)
  distant      each node has the round trip time --rtt; then one has 200 ms       (1 client)
  fenced       uncontended with fencing; its floor is the library without it      (256 clients, and 1)
  observed     uncontended with an observer that does nothing; its floor is the library without it  (256 clients, and 1)
  sets         uncontended with 2, 5 and 20 names at once; its floor is the library with one  (256 clients)
               ten of twenty names at once, while others lock each name; its floor locks one after the other
  denied       a client waits for 64 and 256 names of 24 and 200 bytes; each round is denied  (1 waiter)
  shared       19 of 20 cycles share one lock, the others hold it exclusively, for --hold; in its floor, all cycles are
               exclusive                                                           (64 clients, and 24)
               the same at fixed times: five times the rate of exclusive cycles, or --rate         (64 clients)
  slots        all clients compete for any one of eight locks and hold it for --hold (5 ms), in one process and in four;
               its floor has eight clients, each with a lock of its own            (32 clients)
  stores       uncontended on a PostgreSQL server; its floor is pgbench with the same functions, on as many connections
               (64 clients, and 1)
               the same on a MariaDB server; its floor is the client library with a thread for each connection
               one lock for which four processes compete                          (32 clients)
  versus       the locks of other libraries beside this one, whose rate is their floor; not in "all"
               a key each on one node and on --count nodes                        (256 clients, and 1)
               one key, held for 1 ms and, on one node, not at all                (32 clients)
               a key each while one node is stopped, and with the round trip time --rtt  (1 client)
  command      "redlock run" with a command that does nothing; its floor is a redis-cli PING to each node, one after the
               other
  serve        "redlock serve", whose clients lock and unlock a key each over HTTP; its floor is the library  (64 clients)
               the same beside --sessions idle sessions
  orders       redlock_shop, whose orders hold a lock for their item; its floor has none  (64 clients, and 1)
  scale        1 to 9 nodes, 1 to 10000 clients)";

void check(cli::option_parser const& line, options const& o)
{
    auto const known = scenario_names();
    for (auto const& name : o.scenarios) {
        if (std::ranges::find(known, name) == known.end())
            line.refuse(fmt::format("there is no scenario \"{}\"; --help lists them", cli::without_urls(name)));
    }
    if (!o.plot.empty() && !o.plot.ends_with(".svg"))
        line.refuse(fmt::format("--plot is \"{}\", but must be the name of a file that ends in .svg",
                                cli::without_urls(o.plot)));
    if (o.count % 2 == 0)
        line.refuse(fmt::format("--count is {}, but should be odd: {} nodes survive no more failures than {}", o.count,
                                o.count, o.count - 1));
}

}  // namespace

options parse(std::vector<std::string> arguments)
{
    options o;
    o.server = testbed::server_program();
    std::chrono::microseconds hold = 1ms;
    std::pair<std::string, std::string> compared;
    cli::option_parser line("redlock_bench", about);
    line.add_option("SCENARIO", o.scenarios)->take_all();

    line.option_defaults()->group("What is measured");
    line.add_nodes(o.nodes, "existing servers; keys \"lock:bench…\" are set on them and removed",
                   "$REDLOCK_NODES, unless --count or --server is given");
    line.add_number("--count", o.count, 1, 9, "number of servers to start, odd; for existing servers, use --nodes");
    line.add_text("--server", "PROGRAM", o.server,
                  "program of the servers to start (redis-server, or $REDLOCK_SERVER)");
    line.add_number("--clients", o.clients, 1, 10'000, "at a time");
    line.add_number("--rate", o.rate, 0, 1'000'000,
                    "cycles per second; latency counts from the intended start; 0: as many as possible");
    line.add_duration("--hold", hold, 0ms, 10s,
                      "time in the critical section of `contended` and, if given, of `uncontended`");
    line.add_duration("--rtt", o.rtt, 0ms, 1s, "of `distant`");
    line.add_number("--note", o.note, 0, 200,
                    "bytes of the notes that `uncontended` also measures, as a ratio; 0: without");
    line.add_number("--locks", o.locks, 1, 100'000, "of `renew`");
    line.add_number("--processes", o.processes, 2, 64, "of `crowded`");
    line.add_number("--sessions", o.sessions, 0, 100'000, "idle ones, of `serve`; 0: without");
    line.add_duration("--ttl", o.ttl, 500ms, 1min, "of `renew`");
    o.workers = testbed::named_by("REDLOCK_PEERS");
    line.add_text("--peers", "FOLDER", o.workers,
                  "worker programs of other libraries, for `versus` ($REDLOCK_PEERS); ./dev bench versus makes them");
    line.add_list("--peer", "NAME", o.peer_names, "of `versus`, such as redis-py; default: all");
    line.option_defaults()->group("How");
    line.add_number("--rounds", o.rounds, 1, 100, "medians are shown");
    line.add_duration("--duration", o.duration, 100ms, 1min, "of each measurement");
    line.add_numbers("--pin", "CPU", o.pin, 0, 1023,
                     "runs everything on these processors; one gives the steadiest ratios");
    line.option_defaults()->group("Output, besides the table");
    line.add_text("--json", "FILE", o.json, "all figures, and the machine");
    line.add_text("--plot", "FILE.svg", o.plot,
                  "rates and latencies, drawn by gnuplot; with --compare, what has changed, too");
    line.option_defaults()->group("Instead");
    line.add_option("--compare", compared, "compares two runs: shows what is faster and slower in the second")
        ->type_name("BEFORE.json AFTER.json");
    line.read(std::move(arguments));

    std::tie(o.before, o.after) = std::move(compared);
    if (line.count("--hold") > 0)
        o.hold = hold;
    if (o.nodes.empty() && line.count("--count") == 0 && line.count("--server") == 0)
        o.nodes = cli::urls_in_environment();
    std::ranges::sort(o.pin);
    o.pin.erase(std::unique(o.pin.begin(), o.pin.end()), o.pin.end());
    if (std::ranges::find(o.scenarios, "all") != o.scenarios.end()) {
        bool const wants_versus = std::ranges::find(o.scenarios, "versus") != o.scenarios.end();
        o.scenarios = scenario_names();
        if (!wants_versus)  // it needs programs of others, and takes longer than all others together
            std::erase(o.scenarios, "versus");
    }
    if (o.scenarios.empty())
        o.scenarios = {"uncontended", "stalled"};
    check(line, o);
    return o;
}

std::string command_line(std::vector<std::string> const& arguments)
{
    constexpr std::string_view nodes = "--nodes=";
    std::string line = "redlock_bench";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        line += ' ';
        std::string_view rest = arguments[i];
        if (rest.starts_with(nodes)) {
            line += nodes;
            rest.remove_prefix(nodes.size());
        } else if (i == 0 || arguments[i - 1] != "--nodes") {
            line += rest;
            continue;
        }
        auto separator = "";
        for (auto const& u : cli::split_urls(rest)) {
            auto const address = net::parse_url(u);
            line += std::exchange(separator, ",") + (address.wrong.empty() ? address.name() : "…");
        }
    }
    return line;
}

}  // namespace redlock::bench
