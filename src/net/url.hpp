#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::net {

enum class transport : std::uint8_t { tcp, tls, unix_socket, memory };

/// What an address leads to: a server; the one that Sentinels name; a cluster, or one of its masters.
enum class topology : std::uint8_t { server, sentinel, cluster, member };

/// Where somebody listens.
struct place {
    std::string host{};
    std::string port{};

    friend bool operator==(place const&, place const&) = default;
};

/// "host:port", an IPv6 address in brackets. Inline, because the libraries of stores need it, too.
inline std::string to_string(place const& p)
{
    return p.host.find(':') == std::string::npos ? p.host + ':' + p.port : '[' + p.host + "]:" + p.port;
}

/// What one entry of `config::nodes` says.
struct url {
    net::transport transport = net::transport::tcp;
    std::string host = "127.0.0.1";  ///< or the name of a memory node
    std::string port = "6379";
    std::string path;  ///< of a Unix socket
    std::string user;  ///< empty: the default user
    std::string password;
    int database = 0;

    net::topology topology = topology::server;
    std::vector<place> asked;   ///< the Sentinels, or members of the cluster
    std::string service;        ///< the name by which they know the master
    std::string sentinel_user;  ///< by which they know us
    std::string sentinel_password;
    std::string cluster;  ///< of a member: the name of the cluster
    std::string tag;      ///< of a member: a hash tag in one of its slots

    std::string wrong;  ///< Not empty: what is wrong with it. Holds no password.

    /// For people, and to tell servers apart: without user, password and database.
    std::string name() const;

    /// One of the servers that it leads to.
    url of(place const&) const;
};

url parse_url(std::string_view text);

}  // namespace redlock::net
