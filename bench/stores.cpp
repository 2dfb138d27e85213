#include "stores.hpp"

#include "crowd.hpp"
#include "laboratory.hpp"

#ifdef REDLOCK_HAS_POSTGRESQL
#include "testbed/postgres_server.hpp"
#include "testbed/process.hpp"

#include <redlock/postgresql.hpp>
#endif

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace redlock::bench {

#ifdef REDLOCK_HAS_POSTGRESQL
namespace {

using testbed::postgres_server;

// What a lock and its release are there, asked for by PostgreSQL's own benchmark.
constexpr auto cycle = R"(\set k random(1, 1000000)
SELECT * FROM redlock_acquire(ARRAY[decode(md5(cast(:k AS text)), 'hex')], 'a value of the usual length, of about 50 bytes', 10000, 0, NULL, false, false, false);
SELECT redlock_release(ARRAY[decode(md5(cast(:k AS text)), 'hex')], 'a value of the usual length, of about 50 bytes', false, false);
)";

sample run_pgbench(postgres_server const& s, std::size_t connections, std::chrono::milliseconds duration)
{
    testbed::temporary_folder folder;
    auto const script = folder.path + "/cycle.sql";
    std::ofstream(script) << cycle;
    auto const seconds = std::to_string(std::max<long>(1, std::chrono::ceil<std::chrono::seconds>(duration).count()));
    testbed::process p({testbed::postgres_programs() + "/pgbench", "-n", "-M", "prepared", "-f", script, "-c", std::to_string(connections), "-T", seconds, "-h",
                        "127.0.0.1", "-p", std::to_string(s.port()), "-U", "redlock", "postgres"},
                       {.output = folder.path + "/said"});
    bool const good = p.wait().code() == 0;
    auto const said = (std::ostringstream() << std::ifstream(folder.path + "/said").rdbuf()).str();
    constexpr std::string_view label = "tps = ";
    auto const at = said.find(label);
    if (!good || at == said.npos)
        throw std::runtime_error("pgbench has failed: " + said);
    sample result;
    result.seconds = 1;
    result.cycles = static_cast<std::uint64_t>(std::atof(said.c_str() + at + label.size()));
    return result;
}

result measure_uncontended(laboratory& lab, postgres_server const& s, std::size_t clients, std::size_t connections)
{
    auto const& o = lab.settings();
    auto const timeout = std::chrono::seconds(5);
    load l(config{.nodes = {s.url()},
                  .stores = {postgresql({.connections = connections, .timeout = timeout})},
                  .node_timeout = timeout,
                  .restart_guard = restart_guard::off});
    l.run({.clients = clients, .duration = std::chrono::milliseconds(500)});
    auto const rounds = lab.rounds(
        fmt::format("stores, PostgreSQL, {} clients", clients), [&] { return run_pgbench(s, connections, o.duration); },
        [&](round& r) { r.library = lab.observe([&] { return l.run({.clients = clients, .duration = o.duration}); }); });
    return lab.conclude(rounds, "stores", fmt::format("PostgreSQL, {} connections; floor: pgbench", connections), clients);
}

// One lock that all want, by four processes.
result measure_crowded(laboratory& lab, postgres_server const& s)
{
    auto const& o = lab.settings();
    std::size_t const clients = 32;
    auto const hold = o.hold.value_or(std::chrono::milliseconds(1));
    auto const timeout = std::chrono::seconds(5);
    config const settings{.nodes = {s.url()}, .stores = {postgresql({.connections = 2, .timeout = timeout})}, .node_timeout = timeout, .restart_guard = restart_guard::off};
    work const w{.clients = clients, .duration = o.duration, .one_key = true, .hold = hold};
    auto const rounds = lab.rounds("stores, PostgreSQL, one lock, 4 processes", {}, [&](round& r) {
        r.library = lab.observe([&] { return run_crowd(settings, w, 4, r.more); });
        auto const waits = r.library.wait.summary();
        r.more["longest_wait_to_mean"] = waits.mean > 0 ? waits.max / waits.mean : 0;
    });
    return lab.conclude(rounds, "stores", "PostgreSQL, one lock that four processes want", clients, false);
}

}  // namespace
#endif

std::vector<result> stores(options const& o, progress const& p)
{
    need_own_servers(o, "stores");
    std::vector<result> results;
#ifdef REDLOCK_HAS_POSTGRESQL
    if (!testbed::postgres_programs().empty()) {
        laboratory lab(o, p, 1);
        postgres_server const s;
        for (auto const clients : o.clients > 0 ? std::vector{o.clients} : std::vector<std::size_t>{64, 1})
            results.push_back(measure_uncontended(lab, s, clients, clients > 1 ? 4 : 1));
        results.push_back(measure_crowded(lab, s));
        return results;
    }
#endif
    p("stores: PostgreSQL is left out, its client library or its server is not here");
    return results;
}

}  // namespace redlock::bench
