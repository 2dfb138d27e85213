#include "tools/serve/peer.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <cstring>
#include <sstream>
#include <sys/socket.h>

namespace redlock::serve {

std::string peer_of(boost::asio::generic::stream_protocol::socket::lowest_layer_type& s)
{
    boost::system::error_code ec;
    auto const there = s.remote_endpoint(ec);
    auto const family = there.protocol().family();
    if (!ec && (family == AF_INET || family == AF_INET6)) {
        boost::asio::ip::tcp::endpoint address;
        address.resize(there.size());
        std::memcpy(address.data(), there.data(), there.size());
        std::ostringstream text;
        text << address;
        return text.str();
    }
    ucred user{};
    socklen_t size = sizeof user;
    bool const is_known = ::getsockopt(s.native_handle(), SOL_SOCKET, SO_PEERCRED, &user, &size) == 0;
    return is_known && family == AF_UNIX ? "uid " + std::to_string(user.uid) : "an unknown address";
}

}  // namespace redlock::serve
