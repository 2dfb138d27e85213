#pragma once

#include "bed/process.hpp"
#include "bed/proxy.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace redlock::versus {

/// The network between workers and servers. Each worker has a way of its own to each server.
class network {
public:
    /// The caller must have no other thread: the network is a process of its own.
    network(std::size_t workers, std::vector<std::uint16_t> servers);

    std::uint16_t port(std::size_t worker, std::size_t server) const;

    void set(std::size_t worker, testbed::fault);
    void set_all(testbed::fault f) { proxy_.set_all(f); }
    void set_round_trip(std::chrono::microseconds);

    /// Closes all connections at once, idle ones included. New connections succeed.
    void break_connections() { serve(); }

private:
    void serve();

    std::vector<std::uint16_t> servers_;
    testbed::proxy proxy_;
    std::optional<testbed::process> serving_;
};

}  // namespace redlock::versus
