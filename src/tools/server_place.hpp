#pragma once

#include <redlock/config.hpp>

#include <string>

namespace redlock::tools {

/// Where a server is, for its operators.
struct server_place {
    std::string host{};    ///< empty: @ref socket
    std::string port{};
    std::string socket{};
    std::string user{};    ///< "default", if the address names none
    int database = 0;
    bool has_tls = false;
    tls_options tls{};       ///< the files that this takes

    /// "redis-cli -h 10.0.0.1 -p 6379", to put a command behind it.
    std::string client() const;
};

/// @param url  one of `config::nodes` that leads to a server: see @ref is_server
server_place place_of(std::string const& url, tls_options const& tls = {});

}  // namespace redlock::tools
