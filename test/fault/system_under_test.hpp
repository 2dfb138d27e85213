#pragma once

#include "fault/options.hpp"
#include "fault/request_loop.hpp"
#include "fault/stepped_clock.hpp"
#include "bed/local_server.hpp"
#include "bed/process.hpp"
#include "bed/proxy.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace redlock::test {

/// The targets of the faults: lock servers, the network in front of them, and the processes that take the locks.
struct system_under_test {
    /// The work of a process, with its nodes, its end of the request loop (-1: none) and its seed. @return its exit
    /// status
    using work = std::function<int(std::vector<std::string> const& nodes, int requests, std::uint64_t seed)>;

    /// Starts the servers.
    explicit system_under_test(soak_options const& o) : options(o)
    {
        if (!o.nodes.empty())
            return;
        std::vector<std::string> arguments;
        if (!o.forgetful)
            arguments = {"--appendonly", "yes", "--appendfsync", "always"};
        // At most a minority of servers may fail. A server without a log looks young if its clock was set back, so it
        // counts as failed. Then one server fewer gets a wrong clock, so that another server may crash.
        auto const may_fail = (o.servers - 1) / 2;
        auto const wrong_clocks =
            std::min<std::size_t>(o.forgetful ? std::max<std::size_t>(may_fail, 1) - 1 : may_fail, 2);
        for (std::size_t i = 0; i < o.servers; ++i) {
            std::vector<std::string> environment;
            if (i < wrong_clocks && o.fencing && !o.clock_shim.empty())
                environment = clocks.emplace_back(std::make_unique<stepped_clock>(o.clock_shim))->environment();
            servers.push_back(
                std::make_unique<testbed::local_server>(arguments, testbed::server_program(), environment));
            started.push_back(std::chrono::steady_clock::now());
        }
        check_clocks();
    }

    /// Forks the processes. Then starts the network, and @p requests if there are any.
    void start_clients(work const& work, request_loop* requests = nullptr)
    {
        std::vector<testbed::proxy::target> targets;
        for (auto& s : servers)
            targets.push_back({s->port()});
        network = std::make_unique<testbed::proxy>(targets);
        auto nodes = options.nodes;
        for (std::size_t i = 0; i < network->size(); ++i)
            nodes.push_back(network->url(i));
        auto const start = [&](std::uint64_t seed, bool stopped) {
            int const to_loop = requests ? requests->connect() : -1;
            testbed::process client([&] { return work(nodes, to_loop, seed); },
                                    {.stopped = stopped, .name = "redlock_soak: in a client"});
            if (requests)
                ::close(to_loop);
            return client;
        };
        for (std::size_t i = 0; i < options.processes; ++i)
            clients.push_back(start(options.seed * 100 + i, false));
        // A new process cannot know that a majority of servers has forgotten locks.
        auto const newcomers = options.forgetful ? 0 : std::max(2, options.seconds / 5);
        auto const spares = options.naive_workers() ? std::max(5, options.seconds / 4) : newcomers;
        for (int i = 0; i < spares; ++i)
            spare.push_back(start(options.seed * 100 + 50 + static_cast<std::uint64_t>(i), true));
        network->start();  // after the forks, because a process with threads must not be forked
        if (requests)
            requests->start();
    }

    /// Waits for the processes. @return how many failed
    int end_clients()
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

    /// Starts a server again after a crash.
    void start_server(std::size_t i)
    {
        servers[i]->start();
        started[i] = std::chrono::steady_clock::now();
    }

    /// Starts a spare process. There must be one.
    void add_client()
    {
        clients.push_back(std::move(spare.back()));
        spare.pop_back();
        clients.back().resume();
    }

    /// Kills a process, which may hold locks, and starts a spare one in its place.
    void replace_client(std::size_t i)
    {
        clients[i].signal(SIGKILL);
        // The process is reaped at the end, so that the system does not use its number again.
        dead.push_back(std::exchange(clients[i], std::move(spare.back())));
        spare.pop_back();
        clients[i].resume();
    }

    soak_options const& options;
    std::vector<std::unique_ptr<testbed::local_server>> servers;
    std::vector<std::chrono::steady_clock::time_point> started;  // of the servers
    std::vector<std::unique_ptr<stepped_clock>> clocks;          // of the first servers
    std::unique_ptr<testbed::proxy> network;
    std::vector<testbed::process> clients;
    std::vector<testbed::process> spare;  // stopped until they replace a process
    std::vector<testbed::process> dead;

private:
    void check_clocks()
    {
        for (std::size_t i = 0; i < clocks.size(); ++i) {
            auto const before = servers[i]->ask({"TIME"});
            clocks[i]->set(std::chrono::hours(-24));
            if (servers[i]->ask({"TIME"}) >= before)
                throw std::runtime_error(options.clock_shim + " does not move the servers' clocks");
            clocks[i]->set(std::chrono::seconds(0));
        }
    }
};

}  // namespace redlock::test
