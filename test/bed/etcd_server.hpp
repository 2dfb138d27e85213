#pragma once

#include "bed/server_process.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::testbed {

/// The server program: $REDLOCK_ETCD, or `etcd` in the path; empty if there is none.
std::string etcd_program();

/// The client program for @ref etcd_server::ask, in Debian's package etcd-client; empty if there is none.
std::string etcdctl_program();

/// A real etcd member.
class etcd_server final : public server_process {
public:
    static constexpr auto scheme = "etcd://";

    /// The ports and the name of a member, and the addresses of all members.
    struct place {
        std::uint16_t port, peer_port;
        std::string name;
        std::string cluster;  ///< such as "a=http://127.0.0.1:1,b=…"
    };

    /// A cluster of one member. @p options: such as "--quota-backend-bytes=1000000"
    /// @throws std::runtime_error with its log if it does not start within a minute
    explicit etcd_server(std::vector<std::string> options = {}, std::string client_scheme = "http");

    /// A member of a cluster. The constructor does not wait until the member answers.
    etcd_server(place, std::vector<std::string> options);

    std::string url(std::string const& parameters = {}) const
    {
        return "etcd://127.0.0.1:" + std::to_string(port()) + parameters;
    }
    bool leads() const { return ask({"endpoint", "status"}).find(", true, ") != std::string::npos; }

    /// Returns the output of etcdctl without the last line feed; "error: …" if it fails.
    std::string ask(std::vector<std::string> words) const;

private:
    std::vector<std::string> words() override;
    void take_ports() override;
    std::string client_url() const { return client_scheme_ + "://127.0.0.1:" + std::to_string(port()); }

    place place_{};
    std::vector<std::string> options_;
    std::string client_scheme_ = "http";
};

/// An etcd cluster.
class etcd_cluster : public server_cluster<etcd_server> {
public:
    explicit etcd_cluster(std::size_t members);
};

}  // namespace redlock::testbed
