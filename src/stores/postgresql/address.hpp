#pragma once

#include <redlock/postgresql.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::postgresql {

/// What an entry of `config::nodes` says.
struct address {
    std::string name;                                          ///< for people: without user, password and parameters
    std::map<std::string, std::string, std::less<>> settings;  ///< libpq's words for it
    postgresql_options options;

    std::string get(std::string_view setting) const;
    std::vector<std::string> list(std::string_view setting) const;  ///< its parts between commas
};

/// An address of one of the hosts.
struct found {
    std::size_t host;  ///< which of them
    std::string name;
    std::string address;  ///< empty: a Unix socket
    friend bool operator==(found const&, found const&) = default;
};

/// @p a with @p one for its only host.
address only(address a, found const& one);

/// @throws std::invalid_argument saying what is wrong with @p url, without secrets
address parse_address(std::string_view url, postgresql_options defaults);

/// @throws std::invalid_argument naming the option, the value and the limit
void check(postgresql_options const&);

/// @p text without the passwords that are known, and in one line.
std::string presentable(std::string text, address const&);

}  // namespace redlock::stores::postgresql
