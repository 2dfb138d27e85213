#include "scenarios.hpp"

#include "tools/redlock/args/stores.hpp"
#include "crowd.hpp"
#include "etcd_floor.hpp"
#include "laboratory.hpp"
#include "mysql_floor.hpp"
#include "bed/etcd_server.hpp"
#include "bed/mariadb_server.hpp"
#include "bed/postgres_server.hpp"
#include "bed/process.hpp"
#include "bed/zookeeper_server.hpp"
#include "wake.hpp"
#include "zookeeper_floor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>

namespace redlock::bench {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds usual_timeout(5000);

/// A store with a server of its own.
struct subject {
    std::string name, floor;
    std::string url;
    pid_t server;
    cli::linked_store store;
    std::function<sample(std::size_t clients, std::size_t connections, milliseconds)> run_floor;
};

manager_options settings_of(subject const& s, std::size_t connections, milliseconds timeout = usual_timeout)
{
    return {.nodes = {s.url},
            .stores = {s.store.make({.connections = connections, .timeout = timeout})},
            .node_timeout = timeout,
            .restart_guard = restart_guard::off};
}

result measure_uncontended(laboratory& lab, subject const& s, std::size_t clients, std::size_t connections)
{
    auto const& o = lab.settings();
    load l(settings_of(s, connections));
    l.run({.clients = clients, .duration = milliseconds(500)});
    auto const rounds = lab.rounds(
        fmt::format("stores, {}, {} clients", s.name, clients),
        [&] { return s.run_floor(clients, connections, o.duration); },
        [&](round& r) {
            r.library = lab.observe([&] { return l.run({.clients = clients, .duration = o.duration}); });
        });
    return lab.conclude(rounds, "stores", fmt::format("{}, {} connections; floor: {}", s.name, connections, s.floor),
                        clients);
}

// Four processes compete for one lock.
result measure_crowded(laboratory& lab, subject const& s)
{
    auto const& o = lab.settings();
    std::size_t const clients = 32;
    auto const hold = o.hold.value_or(milliseconds(1));
    work const w{.clients = clients, .duration = o.duration, .one_key = true, .hold = hold};
    auto const rounds = lab.rounds(fmt::format("stores, {}, one lock, 4 processes", s.name), {}, [&](round& r) {
        r.library = lab.observe([&] { return run_crowd(settings_of(s, 2), w, 4, r.more); });
        auto const waits = r.library.wait.summary();
        r.more["longest_wait_to_mean"] = waits.mean > 0 ? waits.max / waits.mean : 0;
    });
    return lab.conclude(rounds, "stores", s.name + ", one lock that four processes want", clients, false);
}

constexpr std::size_t renewed_max = 1000;  // locks; each renewal is a commit

result measure_renewed(laboratory& lab, subject const& s)
{
    auto const& o = lab.settings();
    auto const count = std::min(o.locks, renewed_max);
    load l(settings_of(s, 4, std::min(usual_timeout, o.ttl / 4)));
    auto const rounds = lab.rounds(fmt::format("stores, {}, {} renewed locks", s.name, count), {}, [&](round& r) {
        r.library = lab.observe([&] { return l.hold(count, o.ttl, std::max(o.duration, o.ttl), r.more); });
    });
    return lab.conclude(rounds, "stores", fmt::format("{}, {} renewed locks", s.name, count), 1, false);
}

// Compares the wake-up with a round trip of the store; a cycle of the floor is two round trips.
result measure_woken(laboratory& lab, subject const& s)
{
    auto const& o = lab.settings();
    auto const rounds = lab.rounds(
        fmt::format("stores, {}, woken by a release", s.name), [&] { return s.run_floor(1, 1, o.duration); },
        [&](round& r) {
            r.library = lab.observe([&] { return wake(settings_of(s, 2), o.duration); });
            r.more["wake_to_round_trip"] = r.library.acquire.summary().p50 * 1e-6 * 2 * r.floor.rate();
        });
    return lab.conclude(rounds, "stores", s.name + ", woken by a release", 1, false);
}

void measure(laboratory& lab, subject const& s, std::vector<result>& results)
{
    auto const& o = lab.settings();
    lab.count_in(s.server);
    for (auto const clients : o.clients > 0 ? std::vector{o.clients} : std::vector<std::size_t>{64, 1})
        results.push_back(measure_uncontended(lab, s, clients, clients > 1 ? 4 : 1));
    results.push_back(measure_crowded(lab, s));
    results.push_back(measure_renewed(lab, s));
    results.push_back(measure_woken(lab, s));
}

// The statements of a lock and its release, for PostgreSQL's benchmark pgbench.
constexpr auto cycle = R"(\set k random(1, 1000000)
SELECT * FROM redlock_acquire(ARRAY[decode(md5(cast(:k AS text)), 'hex')], 'a value of the usual length, of about 50 bytes', 10000, 0, NULL, false, false, false);
SELECT redlock_release(ARRAY[decode(md5(cast(:k AS text)), 'hex')], 'a value of the usual length, of about 50 bytes', false, false);
)";

sample run_pgbench(testbed::postgres_server const& s, std::size_t connections, milliseconds duration)
{
    testbed::temporary_folder folder;
    auto const script = folder.path + "/cycle.sql";
    std::ofstream(script) << cycle;
    auto const seconds = std::to_string(std::max<long>(1, std::chrono::ceil<std::chrono::seconds>(duration).count()));
    testbed::process p({testbed::postgres_programs() + "/pgbench", "-n", "-M", "prepared", "-f", script, "-c",
                        std::to_string(connections), "-T", seconds, "-h", "127.0.0.1", "-p", std::to_string(s.port()),
                        "-U", "redlock", "postgres"},
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
// Measures a store if its client library is linked and its server is installed.
template <class Server, class Floor>
void measure_store(options const& o, progress const& p, std::vector<result>& results, char const* store,
                   bool has_server, std::string const& name, char const* floor, Floor run_floor)
{
    auto const* const linked = cli::find_store(store);
    if (!linked || !has_server)
        return p(
            fmt::format("stores: {} is left out: its {} is not installed", name, linked ? "server" : "client library"));
    laboratory lab(o, p, 1);
    Server const server;
    measure(lab,
            {.name = name,
             .floor = floor,
             .url = server.url(),
             .server = server.pid(),
             .store = *linked,
             .run_floor = [&](std::size_t clients, std::size_t connections,
                              milliseconds duration) { return run_floor(server, clients, connections, duration); }},
            results);
}

}  // namespace

std::vector<result> stores(options const& o, progress const& p)
{
    need_own_servers(o, "stores");
    std::vector<result> results;
    measure_store<testbed::postgres_server>(
        o, p, results, "postgresql", !testbed::postgres_programs().empty(), "PostgreSQL", "pgbench",
        [](auto& s, std::size_t, auto connections, auto duration) { return run_pgbench(s, connections, duration); });
    measure_store<testbed::mariadb_server>(o, p, results, "mysql", !testbed::mariadb_program().empty(), "MariaDB",
                                           "its client library, a thread each",
                                           [](auto& s, std::size_t, auto connections, auto duration) {
                                               return run_mysql_floor(s.port(), connections, duration);
                                           });
    measure_store<testbed::etcd_server>(o, p, results, "etcd", !testbed::etcd_program().empty(), "etcd",
                                        "raw requests, a thread each",
                                        [](auto& s, std::size_t, auto connections, auto duration) {
                                            return run_etcd_floor(s.port(), connections, duration);
                                        });
    // All clients share one session, because the library has one connection, too.
    measure_store<testbed::zookeeper_server>(o, p, results, "zookeeper", !testbed::zookeeper_class_path().empty(),
                                             "ZooKeeper",
                                             "its client library with the same transactions, in one session",
                                             [](auto& s, auto clients, std::size_t, auto duration) {
                                                 return run_zookeeper_floor(s.port(), clients, duration);
                                             });
    return results;
}

}  // namespace redlock::bench
