#include "fault/system_under_test.hpp"

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <unistd.h>
#include <utility>

namespace redlock::test {

using namespace std::chrono_literals;
using testbed::local_server;
using testbed::process;
using testbed::proxy;

system_under_test::system_under_test(soak_options const& o) : options(o)
{
    if (!o.nodes.empty())
        return;
    std::vector<std::string> arguments;
    if (!o.forgetful)
        arguments = {"--appendonly", "yes", "--appendfsync", "always"};
    // As many as may fail; without a log, one must remain that may: a clock that was set back makes its server look young.
    auto const may_fail = (o.servers - 1) / 2;
    auto const wrong_clocks = std::min<std::size_t>(o.forgetful ? std::max<std::size_t>(may_fail, 1) - 1 : may_fail, 2);
    for (std::size_t i = 0; i < o.servers; ++i) {
        std::vector<std::string> environment;
        if (i < wrong_clocks && o.fencing && !o.clock_shim.empty())
            environment = clocks.emplace_back(std::make_unique<stepped_clock>(o.clock_shim))->environment();
        servers.push_back(std::make_unique<local_server>(arguments, testbed::server_program(), environment));
        started.push_back(std::chrono::steady_clock::now());
    }
    check_clocks();
}

void system_under_test::check_clocks()
{
    for (std::size_t i = 0; i < clocks.size(); ++i) {
        auto const before = servers[i]->ask({"TIME"});
        clocks[i]->set(-24h);
        if (servers[i]->ask({"TIME"}) >= before)
            throw std::runtime_error(options.clock_shim + " does not move the servers' clocks");
        clocks[i]->set(0s);
    }
}

void system_under_test::start_clients(work const& work, request_loop* requests)
{
    std::vector<proxy::target> targets;
    for (auto& s : servers)
        targets.push_back({s->port()});
    network = std::make_unique<proxy>(targets);
    auto nodes = options.nodes;
    for (std::size_t i = 0; i < network->size(); ++i)
        nodes.push_back(network->url(i));
    auto const start = [&](std::uint64_t seed, bool stopped) {
        int const to_loop = requests ? requests->connect() : -1;
        process client([&] { return work(nodes, to_loop, seed); }, {.stopped = stopped, .name = "redlock_soak: in a client"});
        if (requests)
            ::close(to_loop);
        return client;
    };
    for (std::size_t i = 0; i < options.processes; ++i)
        clients.push_back(start(options.seed * 100 + i, false));
    // A newcomer cannot tell that a majority of servers has forgotten its locks.
    auto const newcomers = options.forgetful ? 0 : std::max(2, options.seconds / 5);
    auto const spares = options.naive_workers() ? std::max(5, options.seconds / 4) : newcomers;
    for (int i = 0; i < spares; ++i)
        spare.push_back(start(options.seed * 100 + 50 + static_cast<std::uint64_t>(i), true));
    network->start();  // after the forks: a process with threads is not to be forked
    if (requests)
        requests->start();
}

int system_under_test::end_clients()
{
    spare.clear();
    dead.clear();
    int failed = 0;
    for (auto& client : clients)
        failed += client.wait().status != 0;
    clients.clear();
    network.reset();
    return failed;
}

void system_under_test::start_server(std::size_t i)
{
    servers[i]->start();
    started[i] = std::chrono::steady_clock::now();
}

void system_under_test::add_client()
{
    clients.push_back(std::move(spare.back()));
    spare.pop_back();
    clients.back().resume();
}

void system_under_test::replace_client(std::size_t i)
{
    clients[i].signal(SIGKILL);
    dead.push_back(std::exchange(clients[i], std::move(spare.back())));  // waited for at the end: its number is not given to another
    spare.pop_back();
    clients[i].resume();
}

}  // namespace redlock::test
