#pragma once

#include "bed/local_server.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace redlock::testbed {

struct sentinel_options {
    std::size_t replicas = 1;
    std::size_t sentinels = 1;
    std::string down_after_ms = "60000";  ///< a silent master counts as down after this; by default, longer than tests
    std::vector<std::string> servers{};   ///< options of the servers
    std::vector<std::string> settings{};  ///< lines for the Sentinels' configuration
    std::string port{};                   ///< the master's port for the Sentinels; empty: its port without TLS
};

/// A master named "stock", its replicas, and their Sentinels, whose quorum is a majority.
class sentinel_set {
public:
    /// Starts all servers, and waits until they know each other.
    explicit sentinel_set(sentinel_options = {});

    local_server& server(std::size_t i) { return servers_[i]; }  ///< 0: the first master
    local_server& sentinel(std::size_t i) { return sentinels_[i]; }

    /// @p first + the addresses of the Sentinels + @p last
    std::string url(std::string const& last = "/stock", std::string const& first = "redis-sentinel://") const;

    /// The port of the server that Sentinel @p i calls the master.
    std::string master(std::size_t i = 0) const;

    /// Adds a Sentinel that the others do not know. It monitors the master at @p port.
    local_server& add_sentinel(std::uint16_t port, std::vector<std::string> const& settings = {});

    /// Tells Sentinel @p i to fail over, and waits until it names another master.
    void fail_over(std::size_t i = 0);

    /// Waits until Sentinel @p i names another master than @p port.
    void wait_for_another(std::string const& port, std::size_t i = 0);

private:
    std::deque<local_server> servers_;
    std::deque<temporary_folder> folders_;
    std::deque<local_server> sentinels_;
};

}  // namespace redlock::testbed
