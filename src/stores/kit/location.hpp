#pragma once

#include "net/url.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::kit {

using member = net::place;

/// "etcd://one:2379,two:2379"
std::string to_string(std::string_view scheme, std::vector<member> const&);

/// How a store's addresses differ from others': what they begin with, which port is meant if none is said, and what a
/// path is called.
struct dialect {
    std::string_view scheme;  ///< "etcd://"
    std::string_view port;
    std::string_view path;
};

/// "scheme://[user:password@]host[:port][,…][/path][?name=value[&…]]", in parts.
struct location {
    std::vector<member> members;
    std::string user, password;
    std::string path;                                                       ///< without the '/' before it
    std::vector<std::pair<std::string_view, std::string_view>> parameters;  ///< of the text that was read
};

/// What an entry of `config::nodes` says.
template <class Options>
struct address {
    std::string name{};  ///< for people: without user, password and parameters
    std::vector<member> members;
    std::string user, password;
    bool tls = false;
    Options options;
};

// All of them throw std::invalid_argument, which says what is wrong, without secrets.

location read_location(std::string_view url, dialect const&);

/// "500ms" or "2s". @p name: of the parameter
std::chrono::milliseconds read_duration(std::string_view name, std::string_view text);

/// @p least, @p most: in the unit of @p value, which is called @p unit
void check_range(std::string_view name, long long value, long long least, long long most, std::string_view unit);

[[noreturn]] void refuse(std::string const& what);

}  // namespace redlock::stores::kit
