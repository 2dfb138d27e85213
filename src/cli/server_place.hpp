#pragma once

#include <redlock/config.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// A user of a server, as a shell gives it to redis-cli.
struct server_user {
    std::string name = "default";
    std::string password{};  ///< a word of a shell that stands for it, never the password itself; empty: there is none
};

/// The word that reads a password from the first line of @p file. @param ends_in_cr  the line was written on Windows
std::string password_in(std::string const& file, bool ends_in_cr = false);

/// The word that takes a password from the environment. If it is not there, the shell says so and runs nothing.
inline constexpr std::string_view password_in_environment = "\"${REDISCLI_AUTH:?set it to the password}\"";

/// Where a server is, for its operators.
struct server_place {
    std::string host{};  ///< empty: @ref socket
    std::string port{};
    std::string socket{};
    std::string user{};  ///< "default", if the address names none
    int database = 0;
    bool has_tls = false;
    tls_options tls{};                           ///< the files that this takes
    std::string password{};                      ///< see server_user::password
    std::optional<server_user> administrator{};  ///< the user who may change settings and users, if it is known

    /// "redis-cli -h 10.0.0.1 -p 6379", to put a command behind it. The user of the address runs it.
    std::string client() const;

    /// The same for somebody who may change settings and users. If nobody is known, the default user runs it and the
    /// password comes from the environment.
    std::string admin_client() const;

    /// "redis://user@10.0.0.1:6379/2", without the password.
    std::string url() const;

    /// "10.0.0.1:6379", or "[::1]:6379".
    std::string host_and_port() const;

    /// Another server with the same user and database.
    server_place at(std::string host, std::string port) const;

private:
    std::string client_of(server_user const&) const;
};

/// @param url  one of `config::nodes` that leads to a server: see @ref is_server
server_place place_of(std::string const& url, tls_options const& tls = {});

/// Whether one of `config::nodes` holds a password.
bool has_password(std::string const& url);

/// @p url without its passwords, with its user. "URL" for a store whose URLs are not known here, if it may hold one.
std::string without_password(std::string const& url);

/// One of `config::nodes`.
struct named_node {
    std::string name{};              ///< without user and password
    int database = 0;                ///< of Redis or Valkey
    bool ends_with_session = false;  ///< see `node_limits::ends_with_session`
};

/// The nodes of @p settings, without a connection. A URL that is wrong is left out: the manager refuses it.
std::vector<named_node> named_nodes(config const& settings);

/// Text as a part of a URL.
std::string percent_encoded(std::string_view text);

}  // namespace redlock::cli
