#pragma once

#include "bed/server_process.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::testbed {

/// The class path of a ZooKeeper server: $REDLOCK_ZOOKEEPER, or the jars of Debian's packages; empty if they or Java
/// are missing.
std::string zookeeper_class_path();

/// A real ZooKeeper server with a tick of 100 ms.
class zookeeper_server final : public server_process {
public:
    static constexpr auto scheme = "zookeeper://";

    /// The port and number of a server, and the addresses of its ensemble.
    struct place {
        std::uint16_t port;
        int number;                        ///< from 1 on; 0: it has no ensemble
        std::vector<std::string> servers;  ///< such as "server.1=127.0.0.1:2:3"
    };

    /// A single server. @p settings: lines of zoo.cfg. @p properties: such as "-Dzookeeper.enforceQuota=true"
    /// @throws std::runtime_error with its log if it does not start within a minute
    explicit zookeeper_server(std::vector<std::string> settings = {}, std::vector<std::string> properties = {});

    /// A server of an ensemble. The constructor does not wait until it answers.
    explicit zookeeper_server(place);

    std::string url(std::string const& rest = {}) const
    {
        return "zookeeper://127.0.0.1:" + std::to_string(port()) + rest;
    }
    bool leads() const { return ask("srvr").find("Mode: leader") != std::string::npos; }

    /// Returns the answer to a four-letter word, such as "srvr" or "dump"; empty if there is none.
    std::string ask(std::string const& word) const;

private:
    std::vector<std::string> words() override;
    bool is_ready() const override { return ask("srvr").find("Mode: ") != std::string::npos; }

    place place_{};
    std::vector<std::string> settings_, properties_;
};

/// A ZooKeeper ensemble.
class zookeeper_ensemble : public server_cluster<zookeeper_server> {
public:
    explicit zookeeper_ensemble(std::size_t members);
};

}  // namespace redlock::testbed
