#pragma once

#include <boost/asio/generic/stream_protocol.hpp>

#include <string>

namespace redlock::serve {

/// The other end of a connection, for the log: "10.0.0.1:4242", or "uid 1000" over a Unix socket. Behind a proxy, it is
/// the proxy.
std::string peer_of(boost::asio::generic::stream_protocol::socket::lowest_layer_type& s);

}  // namespace redlock::serve
