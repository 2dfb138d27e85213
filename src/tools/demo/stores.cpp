#include "tools/demo/stores.hpp"

#include "tools/redlock/args/stores.hpp"
#include "tools/demo/act.hpp"
#include "tools/demo/servers.hpp"
#include "bed/etcd_server.hpp"
#include "bed/local_server.hpp"
#include "bed/mariadb_server.hpp"
#include "bed/postgres_server.hpp"
#include "bed/zookeeper_server.hpp"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::demo {

namespace {

using namespace std::chrono_literals;

// A store of the demonstration, and how its server is killed and started.
struct store_in_play {
    std::string name;
    std::string waiters;  ///< how waiters learn of a release
    std::vector<std::string> nodes;
    std::vector<store> stores;
    std::function<void()> kill, start;
    std::shared_ptr<void> servers;
};

struct line {
    std::string name, waiters;
    double rate, back_after;
    std::int64_t sold_meanwhile;
};

// Adds a store with a single server. Returns null if the store is not linked, or its server is not installed.
template <class Server>
std::shared_ptr<Server> add(std::vector<store_in_play>& all, progress& p, std::string_view store, bool has_server,
                            char const* name, char const* waiters, char const* packages)
{
    auto const* const linked = cli::find_store(store);
    if (!linked || !has_server) {
        p.print(fmt::format("{} is left out: its {} is not installed (Debian packages: {})", name,
                            linked ? "server" : "client library", packages));
        return {};
    }
    auto server = std::make_shared<Server>();
    auto const kill = [server] { server->kill(); };
    auto const start = [server] { server->start(); };
    all.push_back({name, waiters, {server->url()}, {linked->make({})}, kill, start, server});
    return server;
}

std::vector<store_in_play> stores_in_play(progress& p, options const& o)
{
    std::vector<store_in_play> all;
    auto const redis = std::make_shared<testbed::local_server>(
        std::vector<std::string>{"--appendonly", "yes", "--appendfsync", "always"}, o.server);
    all.push_back({"one Redis, with a durable log",
                   "told (tracking)",
                   {redis->url()},
                   {},
                   [redis] { redis->kill(); },
                   [redis] { redis->start(); },
                   redis});
    if (auto const postgresql = add<testbed::postgres_server>(all, p, "postgresql",
                                                              !testbed::postgres_programs().empty(), "PostgreSQL",
                                                              "told (NOTIFY)", "libpq-dev and postgresql")) {
        auto mixed = all.back();
        auto const two = std::make_shared<servers>(2, o.server);
        mixed.name = "two Redis and PostgreSQL";
        mixed.waiters = "told";
        mixed.nodes = two->urls();
        mixed.nodes.push_back(postgresql->url("?table=mixed"));
        mixed.servers = two;
        all.push_back(mixed);
    }
    add<testbed::mariadb_server>(all, p, "mysql", !testbed::mariadb_program().empty(), "MariaDB", "asking now and then",
                                 "libmariadb-dev and mariadb-server-core");
    add<testbed::etcd_server>(all, p, "etcd", !testbed::etcd_program().empty(), "etcd", "told (watch)",
                              "etcd-server and etcd-client");
    add<testbed::zookeeper_server>(all, p, "zookeeper", !testbed::zookeeper_class_path().empty(), "ZooKeeper",
                                   "told (watch)", "libzookeeper-st-dev and zookeeper");
    return all;
}

line play_one(progress& p, options const& o, store_in_play const& s)
{
    p.begin_act("Locks in " + s.name,
                "Buyers come again and again, in two processes; the server is killed, and started again.");
    servers none(0, o.server);
    act a(p, none, o.stock);
    crowd const buyers{.nodes = s.nodes,
                       .stores = s.stores,
                       .lock = {.ttl = 2s, .wait = 500ms},
                       .buyers = o.buyers,
                       .arrival_interval = 2ms,  // above database_time: the lock needs time to change hands
                       .database_time = 1ms,
                       .come_again = true,
                       .reorder = o.stock};
    a.admit_in_two_processes(buyers);
    a.open_doors();
    a.sales(1s);  // clients connect, and create tables
    line l{.name = s.name,
           .waiters = s.waiters,
           .rate = static_cast<double>(a.sales(2s)) / 2,
           .back_after = 0,
           .sold_meanwhile = 0};

    s.kill();
    p.event("the server was killed (SIGKILL)");
    a.watch_for(200ms);
    auto const before = a.books().sold();
    a.watch_for(1500ms);
    l.sold_meanwhile = a.books().sold() - before;
    s.start();
    auto const started = std::chrono::steady_clock::now();
    auto const down = a.books().sold();
    bool const back = a.watch_until([&] { return a.books().sold() > down; }, 30s);
    l.back_after = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    p.event("it was started again");
    p.claim(back, fmt::format("sales go on {:.1f} s later", l.back_after));
    if (s.nodes.size() == 1)
        p.claim(l.sold_meanwhile == 0, "nothing was sold without it");
    else
        p.claim(l.sold_meanwhile > 0, fmt::format("two of three are a majority: {} sold without it", l.sold_meanwhile));
    a.close_doors();
    a.watch_to_the_end();
    a.claim_that_books_are_right();
    return l;
}

}  // namespace

void play_stores(progress& p, options const& o)
{
    std::vector<line> lines;
    for (auto const& s : stores_in_play(p, o))
        lines.push_back(play_one(p, o, s));
    p.begin_act("What each of them did",
                fmt::format("One lock, {} buyers in two processes, 1 ms in the books.", o.buyers));
    p.print(
        fmt::format("{:<32} {:>8}  {:>14}  {:>11}  {}", "", "sold/s", "while it is away", "back after", "waiters are"));
    for (auto const& l : lines)
        p.print(fmt::format("{:<32} {:>8.0f}  {:>16}  {:>9.1f} s  {}", l.name, l.rate, l.sold_meanwhile, l.back_after,
                            l.waiters));
    p.conclude();
}

}  // namespace redlock::demo
