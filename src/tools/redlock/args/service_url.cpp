#include "tools/redlock/args/service_url.hpp"

#include "net/url.hpp"
#include "net/url_text.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace redlock::cli {

namespace {

constexpr std::string_view http_scheme = "http://", https_scheme = "https://", unix_socket = "unix:";

[[noreturn]] void refuse_url(std::string_view url, std::string_view why)
{
    throw std::invalid_argument(fmt::format("the address \"{}\" of a service {}", net::shown(url), why));
}

}  // namespace

std::string service_url::name() const
{
    if (!socket.empty())
        return std::string(unix_socket) + socket;
    return std::string(has_tls ? https_scheme : http_scheme) + net::to_string({host, port});
}

bool service_url::is_one(std::string_view url) noexcept
{
    return url.starts_with(http_scheme) || url.starts_with(https_scheme)
           || (url.starts_with(unix_socket) && !url.starts_with("unix://"));
}

service_url service_url::read(std::string_view url)
{
    service_url u;
    if (url.starts_with(unix_socket)) {
        u.socket = url.substr(unix_socket.size());
        if (u.socket.empty())
            refuse_url(url, "must have a path after \"unix:\"");
        return u;
    }
    u.has_tls = url.starts_with(https_scheme);
    auto rest = url.substr(u.has_tls ? https_scheme.size() : http_scheme.size());
    if (rest.ends_with('/'))
        rest.remove_suffix(1);
    if (auto const at = rest.rfind('@'); at != rest.npos) {
        auto const token = net::percent_decode(rest.substr(0, at));
        if (!token || !token->starts_with(':') || token->size() == 1)
            refuse_url(url, "must have the token in the form http://:TOKEN@HOST:PORT");
        u.token = token->substr(1);
        rest.remove_prefix(at + 1);
    }
    if (rest.find_first_of("/?#") != rest.npos)
        refuse_url(url, "must end with the port");
    u.port = u.has_tls ? "443" : "80";
    auto const bracket = rest.rfind(']'), colon = rest.rfind(':');
    if (colon != rest.npos && (bracket == rest.npos || colon > bracket)) {
        auto const port = net::to_number(rest.substr(colon + 1), 1, 65'535);
        if (!port)
            refuse_url(url, "must have a port from 1 to 65535");
        u.port = std::to_string(*port);
        rest = rest.substr(0, colon);
    }
    bool const is_v6 = rest.starts_with('[') && rest.ends_with(']');
    u.host = is_v6 ? rest.substr(1, rest.size() - 2) : rest;
    if (u.host.empty() || !(is_v6 ? net::is_v6_address(u.host) : net::is_host_name(u.host)))
        refuse_url(url, "must have a host name, an IPv4 address, or an IPv6 address in brackets");
    return u;
}

}  // namespace redlock::cli
