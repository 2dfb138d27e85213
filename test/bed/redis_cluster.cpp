#include "bed/redis_cluster.hpp"

#include "bed/wait_until.hpp"

#include <algorithm>
#include <stdexcept>

namespace redlock::testbed {

namespace {

constexpr std::size_t slots = 16'384;

}  // namespace

redis_cluster::redis_cluster(std::size_t masters, std::size_t replicas, std::vector<std::string> options)
{
    options.insert(options.end(),
                   {"--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0"});
    for (std::size_t i = 0; i < masters * (1 + replicas); ++i)
        servers_.emplace_back(options);
    for (std::size_t i = 0; i < masters; ++i) {
        std::vector<std::string> add{"CLUSTER", "ADDSLOTS"};  // ADDSLOTSRANGE needs Redis 7
        for (auto slot = i * slots / masters; slot < (i + 1) * slots / masters; ++slot)
            add.push_back(std::to_string(slot));
        servers_[i].ask(add);
    }
    for (std::size_t i = 0; i < servers_.size(); ++i)
        servers_[i].ask({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    for (std::size_t i = 1; i < servers_.size(); ++i)
        servers_[i].ask({"CLUSTER", "MEET", "127.0.0.1", std::to_string(servers_[0].port())});
    auto const knows = [](local_server const& s, std::string const& other) {
        return s.ask({"CLUSTER", "NODES"}).find(other) != std::string::npos;
    };
    for (std::size_t i = masters; i < servers_.size(); ++i) {
        auto const& replica = servers_[i];
        auto const master = id((i - masters) / replicas);
        wait_until(
            [&] {
                return knows(replica, master) && replica.ask({"CLUSTER", "REPLICATE", master}) == "OK";
            },
            "a replica finds no master");
        wait_until(
            [&] {
                return replica.ask({"INFO", "replication"}).find("master_link_status:up") != std::string::npos;
            },
            "a replica does not get its data");
    }
    wait();
}

std::string redis_cluster::url(std::string const& credentials) const
{
    return "redis-cluster://" + credentials + addresses_of(servers_);
}

std::size_t redis_cluster::owner(std::string const& key) const
{
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        if (servers_[i].pid() > 0 && servers_[i].ask({"ROLE"}).starts_with("master")
            && !servers_[i].ask({"GET", key}).starts_with("-MOVED"))
            return i;
    }
    throw std::runtime_error("no master has the slot of " + key);
}

void redis_cluster::begin_to_move(std::string const& key, std::size_t from, std::size_t to)
{
    servers_[to].ask({"CLUSTER", "SETSLOT", slot(key), "IMPORTING", id(from)});
    servers_[from].ask({"CLUSTER", "SETSLOT", slot(key), "MIGRATING", id(to)});
}

void redis_cluster::end_moving(std::string const& key, std::size_t from, std::size_t to)
{
    auto const keys = servers_[from].ask({"CLUSTER", "GETKEYSINSLOT", slot(key), "100"});
    for (std::size_t begin = 0; begin < keys.size();) {
        auto const end = std::min(keys.find('\n', begin), keys.size());
        servers_[from].ask({"MIGRATE", "127.0.0.1", std::to_string(servers_[to].port()),
                            keys.substr(begin, end - begin), "0", "5000"});
        begin = end + 1;
    }
    for (auto const i : {to, from})
        servers_[i].ask({"CLUSTER", "SETSLOT", slot(key), "NODE", id(to)});
}

void redis_cluster::give(std::string const& key, std::size_t to)
{
    auto const slot = servers_[to].ask({"CLUSTER", "KEYSLOT", key});
    for (auto const& s : servers_) {
        if (s.pid() > 0)
            s.ask({"CLUSTER", "SETSLOT", slot, "NODE", id(to)});
    }
}

void redis_cluster::wait_for_failure(std::size_t i) const
{
    auto const mark = ':' + std::to_string(servers_[i].port()) + '@';
    auto const has_failed = [&](std::string const& nodes) {
        auto const at = nodes.find(mark);
        return at != nodes.npos && nodes.substr(at, nodes.find('\n', at) - at).find("fail ") != std::string::npos;
    };
    for (auto const& s : servers_) {
        if (&s != &servers_[i])
            wait_until([&] { return has_failed(s.ask({"CLUSTER", "NODES"})); }, "a master does not count as failed");
    }
}

void redis_cluster::wait() const
{
    auto const well = [&](local_server const& s) {
        return s.pid() <= 0
               || (s.ask({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos
                   && s.ask({"CLUSTER", "INFO"}).find("cluster_known_nodes:" + std::to_string(servers_.size()))
                          != std::string::npos);
    };
    for (auto const& s : servers_)
        wait_until([&] { return well(s); }, "the cluster does not come together");
}

}  // namespace redlock::testbed
