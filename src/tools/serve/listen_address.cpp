#include "tools/serve/listen_address.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <netinet/in.h>
#include <stdexcept>
#include <string_view>
#include <sys/un.h>

namespace redlock::serve {

namespace {

namespace asio = boost::asio;

[[noreturn]] void refuse(std::string const& text, std::string const& why)
{
    throw std::invalid_argument("\"" + text + "\" " + why + ", such as 127.0.0.1:8642, [::1]:8642 or unix:PATH");
}

}  // namespace

listen_address listen_address::read(std::string const& text)
{
    listen_address a;
    constexpr std::string_view unix_scheme = "unix:";
    if (text.starts_with(unix_scheme)) {
        a.socket = text.substr(unix_scheme.size());
        if (a.socket.empty() || a.socket.size() >= sizeof(sockaddr_un::sun_path))
            refuse(text, "must have a path of 1 to " + std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes");
        a.endpoint = asio::local::stream_protocol::endpoint(a.socket);
        a.is_private = true;
        return a;
    }
    auto const colon = text.rfind(':');
    if (colon == text.npos)
        refuse(text, "has no port");
    auto host = text.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    std::uint16_t port = 0;
    auto const digits = text.substr(colon + 1);
    auto const read = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    boost::system::error_code ec;
    auto const address = asio::ip::make_address(host, ec);
    if (ec || digits.empty() || read.ec != std::errc() || read.ptr != digits.data() + digits.size())
        refuse(text, "is no IP address with a port");
    a.endpoint = asio::ip::tcp::endpoint(address, port);
    a.is_private = address.is_loopback();
    return a;
}

std::string url_of(listen_address const& a, asio::generic::stream_protocol::endpoint const& bound)
{
    if (!a.socket.empty())
        return "unix:" + a.socket;
    asio::ip::tcp::endpoint tcp;
    std::memcpy(tcp.data(), bound.data(), bound.size());
    tcp.resize(bound.size());
    auto const host = tcp.address().to_string();
    return "http://" + (tcp.address().is_v6() ? '[' + host + ']' : host) + ':' + std::to_string(tcp.port());
}

}  // namespace redlock::serve
