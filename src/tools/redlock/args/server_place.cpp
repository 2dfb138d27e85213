#include "tools/redlock/args/server_place.hpp"

#include "tools/redlock/args/permissions.hpp"
#include "net/url.hpp"
#include "net/url_text.hpp"

#include <redlock/node.hpp>
#include <redlock/store.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace redlock::cli {

namespace {

constexpr char default_user[] = "default";

}  // namespace

std::string password_in(std::string const& file, bool ends_in_cr)
{
    return fmt::format("\"$(head -n 1 <{}{})\"", shell_word(file), ends_in_cr ? " | tr -d '\\r'" : "");
}

std::string server_place::client() const { return client_of({user, password}); }

std::string server_place::admin_client() const
{
    if (administrator)
        return client_of(*administrator);
    return user == default_user ? client() : client_of({default_user, std::string(password_in_environment)});
}

// redis-cli gets the password by the environment, because all users of a machine can read the arguments of a process.
std::string server_place::client_of(server_user const& u) const
{
    auto line = u.password.empty() ? std::string() : fmt::format("REDISCLI_AUTH={} ", u.password);
    line += socket.empty() ? fmt::format("redis-cli -h {} -p {}", shell_word(host), port)
                           : "redis-cli -s " + shell_word(socket);
    bool const is_named = u.name != default_user || user != default_user;
    if (is_named && !u.password.empty())
        line += " --user " + shell_word(u.name);
    if (!has_tls)
        return line;
    line += " --tls";
    for (auto const& [option, file] : {std::pair("--cacert", &tls.ca_file), std::pair("--cert", &tls.certificate_file),
                                       std::pair("--key", &tls.private_key_file)}) {
        if (!file->empty())
            line += fmt::format(" {} {}", option, shell_word(*file));
    }
    return line;
}

std::string server_place::url() const
{
    auto const whose = user.empty() || user == default_user ? "" : percent_encoded(user) + '@';
    if (!socket.empty())
        return fmt::format("unix://{}{}{}", whose, socket, database == 0 ? "" : fmt::format("?db={}", database));
    return fmt::format("redis{}://{}{}{}", has_tls ? "s" : "", whose, host_and_port(),
                       database == 0 ? "" : fmt::format("/{}", database));
}

std::string server_place::host_and_port() const { return net::to_string({host, port}); }

server_place server_place::at(std::string other_host, std::string other_port) const
{
    auto other = *this;
    other.host = std::move(other_host);
    other.port = std::move(other_port);
    other.socket.clear();
    return other;
}

server_place place_of(std::string const& url, tls_options const& tls)
{
    auto const u = net::parse_url(url);
    bool const is_socket = u.transport == net::transport::unix_socket;
    return {.host = is_socket ? "" : u.host,
            .port = is_socket ? "" : u.port,
            .socket = u.path,
            .user = u.user.empty() ? default_user : u.user,
            .database = u.database,
            .has_tls = u.transport == net::transport::tls,
            .tls = tls,
            .password = u.password.empty() ? "" : std::string(password_in_environment)};
}

bool has_password(std::string const& url) { return url.find('@') != url.npos || url.find("password") != url.npos; }

std::string without_password(std::string const& url)
{
    if (!has_password(url))
        return url;
    auto const u = net::parse_url(url);
    if (!u.wrong.empty())
        return "URL";
    if (u.topology == net::topology::server)
        return place_of(url).url();
    auto name = u.name();
    if (!u.user.empty())
        name.insert(name.find("://") + 3, percent_encoded(u.user) + '@');
    std::string parameters;
    auto const add = [&](std::string const& text) { parameters += (parameters.empty() ? '?' : '&') + text; };
    if (u.database != 0)
        add("db=" + std::to_string(u.database));
    if (!u.sentinel_user.empty())
        add("sentinel_user=" + percent_encoded(u.sentinel_user));
    if (!u.sentinel_password.empty())
        add("sentinel_password=PASSWORD");
    if (u.sentinel_transport)
        add(*u.sentinel_transport == net::transport::tls ? "sentinel_tls=on" : "sentinel_tls=off");
    std::string routes;
    for (auto const& [announced, reachable] : u.routes)
        routes += (routes.empty() ? "map=" : ",") + net::to_string(announced) + '=' + net::to_string(reachable);
    if (!routes.empty())
        add(routes);
    return name + parameters;
}

std::vector<named_node> named_nodes(manager_options const& settings)
{
    std::vector<named_node> all;
    for (auto const& named : settings.nodes) {
        auto const url = net::with_lower_scheme(named);
        auto const scheme = url.substr(0, url.find("://"));
        auto const knows = [&](store const& s) { return std::ranges::find(s.schemes, scheme) != s.schemes.end(); };
        auto const of_store = std::ranges::find_if(settings.stores, knows);
        if (of_store == settings.stores.end()) {
            auto const parsed = net::parse_url(url);
            all.push_back({.name = parsed.name(), .database = parsed.database});
            continue;
        }
        try {
            auto const made = of_store->make(url, settings, {.claim = [](auto&, auto&) { return std::string(); }});
            all.push_back({.name = made->name(), .ends_with_session = made->limits().ends_with_session});
        } catch (std::invalid_argument const&) {
        }
    }
    return all;
}

std::string percent_encoded(std::string_view text)
{
    std::string encoded;
    for (unsigned char const c : text) {
        bool const is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'
                              || c == '_' || c == '.';
        encoded += is_plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
    }
    return encoded;
}

}  // namespace redlock::cli
