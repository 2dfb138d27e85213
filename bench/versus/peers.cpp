#include "versus/peers.hpp"

#include "bed/etcd_server.hpp"
#include "bed/local_server.hpp"
#include "bed/postgres_server.hpp"
#include "bed/process.hpp"
#include "bed/zookeeper_server.hpp"

namespace redlock::bench {

namespace {

/// Why there are no such servers on this machine; empty: there are.
std::string missing_servers(lock_servers kind)
{
    switch (kind) {
    case lock_servers::redis_quorum:
    case lock_servers::one_redis:
        return testbed::answer_of({testbed::server_program(), "--version"}).starts_with("error: ")
                   ? testbed::server_program()
                         + " is not installed (Debian's package redis-server); $REDLOCK_SERVER may name another program"
                   : "";
    case lock_servers::etcd:
        return testbed::etcd_program().empty() || testbed::etcdctl_program().empty()
                   ? "etcd or etcdctl is not installed (Debian's packages etcd-server and etcd-client)"
                   : "";
    case lock_servers::zookeeper:
        return testbed::zookeeper_class_path().empty() ? "ZooKeeper is not installed (Debian's package zookeeper)" : "";
    case lock_servers::postgresql:
        return testbed::postgres_programs().empty() ? "PostgreSQL is not installed (Debian's package postgresql)" : "";
    }
    return {};
}

void probe(peer& p)
{
    // An interpreter that cannot run the worker says so on standard error.
    std::vector<std::string> words{"sh", "-c", "exec \"$@\" 2>&1", "sh"};
    words.insert(words.end(), p.command.begin(), p.command.end());
    words.emplace_back("probe");
    testbed::process worker(words, {.piped = true});
    auto said = worker.read();
    said.erase(said.find_last_not_of('\n') + 1);
    said.erase(0, said.rfind('\n') + 1);  // the last line
    auto const ending = worker.wait();
    if (ending.code() == 0)
        p.versions = said;
    else if (ending.code() == 127)
        p.missing = p.command.front() + " is not installed";
    else
        p.missing = said.empty() ? p.command.back() + ' ' + ending.in_words() : said;
}

}  // namespace

std::vector<peer> find_peers(std::string const& folder)
{
    auto const program = [&](char const* name) { return std::vector{folder + "/" + name}; };
    auto const node = [&](char const* script) { return std::vector<std::string>{"node", folder + "/" + script}; };
    // Debian's Python: another one would not find Debian's packages.
    auto const python = [&](char const* script) {
        return std::vector<std::string>{"/usr/bin/python3", folder + "/" + script};
    };
    using enum lock_servers;
    std::vector<peer> peers{
        {"redlock", "redlock", redis_quorum, program("redlock_worker")},
        {"redlock-fencing", "redlock with fencing", redis_quorum,
         [&] {
             auto words = program("redlock_worker");
             words.emplace_back("--fencing");
             return words;
         }()},
        {"node-redlock-5", "node-redlock 5", redis_quorum, node("node_redlock_5.mjs")},
        {"node-redlock-4", "node-redlock 4", redis_quorum, node("node_redlock_4.mjs")},
        {"redis-semaphore", "redis-semaphore", redis_quorum, node("redis_semaphore.mjs")},
        {"ioredis", "ioredis, SET NX by hand", one_redis, node("ioredis_by_hand.mjs")},
        {"redis-py", "redis-py Lock", one_redis, python("redis_py.py")},
        {"boost-redis", "Boost.Redis, SET NX by hand", one_redis, program("boost_redis_worker")},
        {"etcd", "etcd's own lock", etcd, python("etcd_lock.py")},
        {"zookeeper", "ZooKeeper's recipe, kazoo", zookeeper, python("kazoo_lock.py")},
        {"postgresql", "PostgreSQL's advisory lock", postgresql, python("postgresql_advisory.py")},
    };
    for (auto& p : peers) {
        probe(p);
        if (p.missing.empty())
            p.missing = missing_servers(p.servers);
    }
    return peers;
}

}  // namespace redlock::bench
