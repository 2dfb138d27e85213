#pragma once

#include <redlock/manager_options.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// A user of a server, as a shell command line passes it to redis-cli.
struct server_user {
    std::string name = "default";
    std::string password{};  ///< a shell word that expands to the password, never the password; empty: no password
};

/// The shell word that expands to the first line of @p file.
/// @param ends_in_cr  the line ends with CR LF, so the word must remove the CR
std::string password_in(std::string const& file, bool ends_in_cr = false);

/// The shell word that expands to $REDISCLI_AUTH. If the variable is not set, the shell prints an error and runs
/// nothing.
inline constexpr std::string_view password_in_environment = "\"${REDISCLI_AUTH:?set it to the password}\"";

/// The address of a server, in the form that operators need.
struct server_place {
    std::string host{};  ///< empty: the server has a @ref socket instead
    std::string port{};
    std::string socket{};
    std::string user{};  ///< "default" if the address names no user
    int database = 0;
    bool has_tls = false;
    tls_options tls{};                           ///< files of certificates and keys
    std::string password{};                      ///< see server_user::password
    std::optional<server_user> administrator{};  ///< the user who may change settings and users, if it is known

    /// The start of a shell command, as the user of the address: "redis-cli -h 10.0.0.1 -p 6379".
    std::string client() const;

    /// Like @ref client, but as the @ref administrator. If it is not known, the command runs as the default user, with
    /// the password in the environment.
    std::string admin_client() const;

    /// The address without the password: "redis://user@10.0.0.1:6379/2".
    std::string url() const;

    /// "10.0.0.1:6379", or "[::1]:6379".
    std::string host_and_port() const;

    /// Another server with the same user and database.
    server_place at(std::string host, std::string port) const;

private:
    std::string client_of(server_user const&) const;
};

/// @param url  an entry of `manager_options::nodes` for which @ref is_server is true
server_place place_of(std::string const& url, tls_options const& tls = {});

/// Whether an entry of `manager_options::nodes` contains a password.
bool has_password(std::string const& url);

/// @p url with its user, but without passwords. Returns "URL" if the scheme is unknown and the text may contain a
/// password.
std::string without_password(std::string const& url);

/// An entry of `manager_options::nodes`.
struct named_node {
    std::string name{};              ///< without user and password
    int database = 0;                ///< of Redis or Valkey
    bool ends_with_session = false;  ///< see `node_limits::ends_with_session`
};

/// The nodes of @p settings, without connecting to them. Invalid URLs are skipped, because the manager refuses them.
std::vector<named_node> named_nodes(manager_options const& settings);

/// @p text percent-encoded as a part of a URL.
std::string percent_encoded(std::string_view text);

}  // namespace redlock::cli
