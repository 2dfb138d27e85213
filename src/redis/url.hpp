#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::redis {

enum class transport : std::uint8_t { tcp, tls, unix_socket, memory };

/// What one entry of `config::nodes` says.
struct url {
    redis::transport transport = redis::transport::tcp;
    std::string host = "127.0.0.1";  ///< or the name of a memory node
    std::string port = "6379";
    std::string path;                ///< of a Unix socket
    std::string user;                ///< empty: the default user
    std::string password;
    int database = 0;

    std::string wrong;               ///< Not empty: what is wrong with it. Holds no password.

    /// For people, and to tell servers apart: without user, password and database.
    std::string name() const;
};

url parse_url(std::string_view text);

}  // namespace redlock::redis
