#pragma once

#include "fault/options.hpp"
#include "fault/request_loop.hpp"
#include "fault/stepped_clock.hpp"
#include "testbed/local_server.hpp"
#include "testbed/process.hpp"
#include "testbed/proxy.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace redlock::test {

/// What the faults strike: the lock servers, the network before them, and the processes that take the locks.
struct system_under_test {
    /// Of a process. Its nodes, its end of the request loop (-1: there is none) and its seed. @return its exit status
    using work = std::function<int(std::vector<std::string> const& nodes, int requests, std::uint64_t seed)>;

    /// Starts the servers.
    explicit system_under_test(soak_options const&);

    /// Forks the processes; then starts the network, and @p requests if they have any to make.
    void start_clients(work const&, request_loop* requests = nullptr);

    /// Waits for their ends. @return how many did not end well
    int end_clients();

    void start_server(std::size_t i);    ///< again
    void add_client();                   ///< A spare one starts; there must be one.
    void replace_client(std::size_t i);  ///< One dies with its locks, and a spare one comes in its place.

    soak_options const& options;
    std::vector<std::unique_ptr<testbed::local_server>> servers;
    std::vector<std::chrono::steady_clock::time_point> started;  // the servers
    std::vector<std::unique_ptr<stepped_clock>> clocks;          // of the first servers
    std::unique_ptr<testbed::proxy> network;
    std::vector<testbed::process> clients;
    std::vector<testbed::process> spare;  // stopped until they take somebody's place
    std::vector<testbed::process> dead;

private:
    void check_clocks();
};

}  // namespace redlock::test
