#pragma once

#include "testbed/server_process.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::testbed {

/// The jars of a ZooKeeper server, as a class path: $REDLOCK_ZOOKEEPER, or those of Debian's packages. Empty: there is
/// none, or no Java.
std::string zookeeper_class_path();

/// A real ZooKeeper server. Its tick is a tenth of a second.
class zookeeper_server final : public server_process {
public:
    static constexpr auto scheme = "zookeeper://";

    /// What a server of an ensemble is told of the others.
    struct place {
        std::uint16_t port;
        int number;                        ///< from 1 on; 0: it is alone
        std::vector<std::string> servers;  ///< such as "server.1=127.0.0.1:2:3"
    };

    /// Alone. @p settings: lines of zoo.cfg. @p properties: such as "-Dzookeeper.enforceQuota=true"
    /// @throws std::runtime_error if it does not start within a minute, with its log
    explicit zookeeper_server(std::vector<std::string> settings = {}, std::vector<std::string> properties = {});

    /// One of several; does not wait until it answers.
    explicit zookeeper_server(place);

    std::string url(std::string const& rest = {}) const
    {
        return "zookeeper://127.0.0.1:" + std::to_string(port()) + rest;
    }
    bool leads() const { return ask("srvr").find("Mode: leader") != std::string::npos; }

    /// What it says to a word of four letters, such as "srvr" or "dump"; empty: nothing.
    std::string ask(std::string const& word) const;

private:
    std::vector<std::string> words() override;
    bool is_ready() const override { return ask("srvr").find("Mode: ") != std::string::npos; }

    place place_{};
    std::vector<std::string> settings_, properties_;
};

/// Several that are one ensemble.
class zookeeper_ensemble : public server_cluster<zookeeper_server> {
public:
    explicit zookeeper_ensemble(std::size_t members);
};

}  // namespace redlock::testbed
