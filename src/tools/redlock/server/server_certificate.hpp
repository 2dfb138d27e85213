#pragma once

#include <redlock/manager_options.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <string>

namespace redlock::cli {

namespace asio = boost::asio;

/// The certificate of a server with TLS.
struct server_certificate {
    std::chrono::sys_seconds begins{};
    std::chrono::sys_seconds ends{};
    std::string complaint{};  ///< why it is not trusted; empty: it is trusted
    std::string unread{};     ///< why it could not be read; empty: it was read
};

/** Reads the certificate of a server, even if it is not trusted.

    @param url  an entry of `manager_options::nodes` for a server with TLS
    @throws std::invalid_argument if a file for TLS cannot be used; the message names the file
*/
asio::awaitable<server_certificate> certificate_of(std::string url, redlock::manager_options const& c);

}  // namespace redlock::cli
