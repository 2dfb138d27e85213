#pragma once

#include <redlock/config.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <string>

namespace redlock::cli {

namespace asio = boost::asio;

/// What a server with TLS shows.
struct server_certificate {
    std::chrono::sys_seconds begins{};
    std::chrono::sys_seconds ends{};
    std::string complaint{};  ///< why it is not trusted; empty: it is
    std::string unread{};     ///< not empty: why nothing of it is known
};

/** Looks at the certificate, also at one that is not trusted.

    @param url  one of `config::nodes` that leads to a server, by TLS
    @throws std::invalid_argument naming the file that cannot be used
*/
asio::awaitable<server_certificate> certificate_of(std::string url, redlock::config const& c);

}  // namespace redlock::cli
