#pragma once

#include <boost/asio/generic/stream_protocol.hpp>

#include <string>

namespace redlock::serve {

/// Where the service accepts connections.
struct listen_address {
    boost::asio::generic::stream_protocol::endpoint endpoint{};
    std::string socket{};     ///< the path of a Unix socket; empty: TCP
    bool is_private = false;  ///< only programs of this host reach it

    /// Reads "127.0.0.1:8642", "[::1]:8642" or "unix:/run/redlock.sock". Port 0: any free port.
    /// @throws std::invalid_argument
    static listen_address read(std::string const& text);
};

/// The address for people: "http://127.0.0.1:8642" or "unix:/run/redlock.sock".
std::string url_of(listen_address const&, boost::asio::generic::stream_protocol::endpoint const& bound);

}  // namespace redlock::serve
