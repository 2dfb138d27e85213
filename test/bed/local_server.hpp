#pragma once

#include "bed/server_process.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::testbed {

/// The server program to use: $REDLOCK_SERVER, or "redis-server".
std::string server_program();

/// A real Redis server, or a Sentinel.
class local_server final : public server_process {
public:
    /// Starts @p program with @p options, adds @p environment ("NAME=value") to ours, and waits until it answers.
    /// The first option may be the path of a configuration file. Without one, the server stores nothing on the disk.
    /// @throws std::runtime_error with its log if it does not answer within a minute
    explicit local_server(std::vector<std::string> options = {}, std::string program = server_program(),
                          std::vector<std::string> environment = {});

    std::string url() const { return "redis://127.0.0.1:" + std::to_string(port()); }

    /// Sends @p command on a new connection, and returns the reply as plain_client::ask does.
    std::string ask(std::vector<std::string> const& command) const;

    /// The number of its keys, as text. Life markers and settings, which each manager keeps there, are not counted.
    std::string count_keys() const;

private:
    std::vector<std::string> words() override;
    void take_ports() override;
    bool may_start_later(std::string const& log) const override;

    std::vector<std::string> options_;
    std::string program_;
};

/// The highest port of a server in a cluster. The cluster bus uses the port that is 10,000 higher.
inline constexpr std::uint16_t highest_cluster_port = 55'535;

}  // namespace redlock::testbed
