#pragma once

#include "testbed/local_server.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace redlock::testbed {

struct sentinel_options {
    std::size_t replicas = 1;
    std::size_t sentinels = 1;
    std::string down_after_ms = "60000";  ///< until a master that does not answer counts as down; by default none does
    std::vector<std::string> servers{};   ///< options of the servers
    std::vector<std::string> settings{};  ///< lines for the Sentinels' configuration
    std::string port{};                   ///< of the master, as the Sentinels know it; empty: the one without TLS
};

/// A master, its replicas, and Sentinels that watch them under the name "stock"; a majority of the Sentinels decides.
class sentinel_set {
public:
    /// Waits until all of them know of each other.
    explicit sentinel_set(sentinel_options = {});

    local_server& server(std::size_t i) { return servers_[i]; }  ///< the first is the master at first
    local_server& sentinel(std::size_t i) { return sentinels_[i]; }

    /// @p first: the part that stands before the Sentinels; @p last: what stands behind them.
    std::string url(std::string const& last = "/stock", std::string const& first = "redis-sentinel://") const;

    /// The port of the server that Sentinel @p i calls the master.
    std::string master(std::size_t i = 0) const;

    /// One more Sentinel, of which the others have not been told. It knows the master as @p port.
    local_server& add_sentinel(std::uint16_t port, std::vector<std::string> const& settings = {});

    /// Has Sentinel @p i make another server the master, and waits until it names another one.
    void fail_over(std::size_t i = 0);

    /// Waits until Sentinel @p i names another master than @p port.
    void wait_for_another(std::string const& port, std::size_t i = 0);

private:
    std::deque<local_server> servers_;
    std::deque<temporary_folder> folders_;
    std::deque<local_server> sentinels_;
};

}  // namespace redlock::testbed
