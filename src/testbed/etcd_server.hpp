#pragma once

#include "testbed/server_process.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::testbed {

/// The program: $REDLOCK_ETCD, or the one that is found in the path. Empty: there is none.
std::string etcd_program();

/// What talks to it for @ref etcd_server::ask, which Debian has in another package, etcd-client. Empty: there is none.
std::string etcdctl_program();

/// A real etcd member.
class etcd_server final : public server_process {
public:
    static constexpr auto scheme = "etcd://";

    /// What a member of a cluster is told of the others.
    struct place {
        std::uint16_t port, peer_port;
        std::string name;
        std::string cluster;  ///< such as "a=http://127.0.0.1:1,b=…"
    };

    /// Alone. @p options: such as "--quota-backend-bytes=1000000"
    /// @throws std::runtime_error if it does not start within a minute, with its log
    explicit etcd_server(std::vector<std::string> options = {}, std::string client_scheme = "http");

    /// One of several; does not wait until it answers.
    etcd_server(place, std::vector<std::string> options);

    std::string url(std::string const& parameters = {}) const
    {
        return "etcd://127.0.0.1:" + std::to_string(port()) + parameters;
    }
    bool leads() const { return ask({"endpoint", "status"}).find(", true, ") != std::string::npos; }

    /// What etcdctl prints, without the last line feed; "error: …"
    std::string ask(std::vector<std::string> words) const;

private:
    std::vector<std::string> words() override;
    void take_ports() override;
    std::string client_url() const { return client_scheme_ + "://127.0.0.1:" + std::to_string(port()); }

    place place_{};
    std::vector<std::string> options_;
    std::string client_scheme_ = "http";
};

/// Several that are one cluster.
class etcd_cluster : public server_cluster<etcd_server> {
public:
    explicit etcd_cluster(std::size_t members);
};

}  // namespace redlock::testbed
