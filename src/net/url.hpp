#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::net {

enum class transport : std::uint8_t { tcp, tls, unix_socket, memory };

/// The target of an address: a server; the master that Sentinels name; a cluster, or one of its masters.
enum class topology : std::uint8_t { server, sentinel, cluster, member };

/// The host and port of a server.
struct place {
    std::string host{};
    std::string port{};

    friend bool operator==(place const&, place const&) = default;
};

/// "host:port", with an IPv6 address in brackets. Inline, because the libraries of stores use it, too.
inline std::string to_string(place const& p)
{
    return p.host.find(':') == std::string::npos ? p.host + ':' + p.port : '[' + p.host + "]:" + p.port;
}

/// An entry of `manager_options::nodes`.
struct url {
    net::transport transport = net::transport::tcp;
    std::string host = "127.0.0.1";  ///< or the name of a memory node
    std::string port = "6379";
    std::string path;  ///< only for a Unix socket
    std::string user;  ///< empty: the default user
    std::string password;
    int database = 0;

    net::topology topology = topology::server;
    std::vector<place> asked;   ///< the Sentinels, or members of the cluster
    std::string service;        ///< the name of the master at the Sentinels
    std::string sentinel_user;  ///< the user for the Sentinels
    std::string sentinel_password;
    std::optional<net::transport> sentinel_transport;  ///< nothing: as for the servers
    std::vector<std::pair<place, place>> routes;       ///< how to reach servers behind NAT: announced, reachable
    std::string cluster;                               ///< only for a member: the name of the cluster
    std::string tag;                                   ///< only for a member: a hash tag in one of its slots

    std::string wrong;  ///< why the URL is not allowed, without a password; empty if it is allowed

    /// The name for messages, which also identifies the server. Without user, password and database.
    std::string name() const;

    /// The URL of one of the servers behind this URL.
    url of(place const&) const;

    /// Where to connect for a server that announces @p p.
    place route_to(place const& p) const;
};

url parse_url(std::string_view text);

}  // namespace redlock::net
