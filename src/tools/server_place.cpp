#include "tools/server_place.hpp"

#include "redis/url.hpp"
#include "tools/permissions.hpp"

#include <fmt/format.h>

#include <utility>

namespace redlock::tools {

std::string server_place::client() const
{
    if (!socket.empty())
        return "redis-cli -s " + shell_word(socket);
    auto line = fmt::format("redis-cli -h {} -p {}", shell_word(host), port);
    if (!has_tls)
        return line;
    line += " --tls";
    for (auto const& [option, file] : {std::pair("--cacert", &tls.ca_file), std::pair("--cert", &tls.certificate_file), std::pair("--key", &tls.private_key_file)}) {
        if (!file->empty())
            line += fmt::format(" {} {}", option, shell_word(*file));
    }
    return line;
}

server_place place_of(std::string const& url, tls_options const& tls)
{
    auto const u = redis::parse_url(url);
    bool const is_socket = u.transport == redis::transport::unix_socket;
    return {.host = is_socket ? "" : u.host,
            .port = is_socket ? "" : u.port,
            .socket = u.path,
            .user = u.user.empty() ? "default" : u.user,
            .database = u.database,
            .has_tls = u.transport == redis::transport::tls,
            .tls = tls};
}

}  // namespace redlock::tools
