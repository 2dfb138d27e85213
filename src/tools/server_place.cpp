#include "tools/server_place.hpp"

#include "redis/url.hpp"

#include <fmt/format.h>

namespace redlock::tools {

std::string server_place::client() const
{
    if (!socket.empty())
        return "redis-cli -s " + socket;
    return fmt::format("redis-cli -h {} -p {}{}", host, port, has_tls ? " --tls" : "");
}

server_place place_of(std::string const& url)
{
    auto const u = redis::parse_url(url);
    bool const is_socket = u.transport == redis::transport::unix_socket;
    return {.host = is_socket ? "" : u.host,
            .port = is_socket ? "" : u.port,
            .socket = u.path,
            .user = u.user.empty() ? "default" : u.user,
            .database = u.database,
            .has_tls = u.transport == redis::transport::tls};
}

}  // namespace redlock::tools
