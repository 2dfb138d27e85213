#pragma once

#include "testbed/server_process.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::testbed {

/// The server program to use: $REDLOCK_SERVER, or "redis-server".
std::string server_program();

/// A real Redis server, or a Sentinel.
class local_server final : public server_process {
public:
    /// Starts @p program with @p options, and with @p environment ("NAME=value") on top of ours, and waits until it
    /// answers.
    /// @throws std::runtime_error if it does not within a minute, with its log
    explicit local_server(std::vector<std::string> options = {}, std::string program = server_program(),
                          std::vector<std::string> environment = {});

    std::string url() const { return "redis://127.0.0.1:" + std::to_string(port()); }

    /// Asks the server, over a connection made for it. See plain_client::ask.
    std::string ask(std::vector<std::string> const& command) const;

    /// How many keys it has, as text, besides those that each manager keeps there: life marker and settings.
    std::string count_keys() const;

private:
    std::vector<std::string> words() override;
    void take_ports() override;
    bool may_start_later(std::string const& log) const override;

    std::vector<std::string> options_;
    std::string program_;
};

/// The highest port of a server in a cluster: it talks to the others on a port that is 10,000 higher.
inline constexpr std::uint16_t highest_cluster_port = 55'535;

}  // namespace redlock::testbed
