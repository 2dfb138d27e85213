#pragma once

#include "net/url.hpp"
#include "bed/local_server.hpp"
#include "bed/plain_client.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace redlock::bench {

/// Opens a blocking connection and authenticates. @throws std::runtime_error naming the node
int connect_to(net::url const& node);

/// The servers that are measured. The fleet starts and stops its own; servers given by URL it leaves running.
class fleet {
public:
    /// Starts @p count servers. @throws std::runtime_error with the log of a server that does not start
    fleet(std::size_t count, std::string const& program);

    /// @throws std::runtime_error naming the URL that is invalid or cannot be reached
    explicit fleet(std::vector<std::string> urls);

    std::size_t size() const noexcept { return urls_.size(); }
    std::vector<std::string> const& urls() const noexcept { return urls_; }
    std::vector<net::url> const& addresses() const noexcept { return addresses_; }

    /// Its own server @p i; null if the servers were given by URL.
    testbed::local_server* own(std::size_t i) { return own_.empty() ? nullptr : own_[i].get(); }

    /// "Redis 7.0.15"
    std::string version();

    /// Sums over all nodes since their start.
    struct counters {
        std::uint64_t commands = 0;  ///< for locks
        std::uint64_t reads = 0;     ///< read system calls
        double cpu_seconds = 0;
    };
    counters count();

private:
    void look_up_addresses();

    std::vector<std::unique_ptr<testbed::local_server>> own_;
    std::vector<std::string> urls_;
    std::vector<net::url> addresses_;
    std::vector<std::unique_ptr<testbed::plain_client>> observers_;
};

}  // namespace redlock::bench
