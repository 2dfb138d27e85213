#pragma once

#include "net/url.hpp"

#include <redlock/manager_options.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::kit {

using member = net::place;

/// Writes "etcd://one:2379,two:2379".
std::string to_string(std::string_view scheme, std::vector<member> const&);

/// The details in which the addresses of stores differ.
struct dialect {
    std::string_view scheme;  ///< such as "etcd://"
    std::string_view port;    ///< the default port
    std::string_view path;    ///< the word for the path in messages
};

/// The parts of "scheme://[user:password@]host[:port][,…][/path][?name=value[&…]]".
struct location {
    std::vector<member> members;
    std::string user, password;
    std::string path;                                                       ///< without the leading '/'
    std::vector<std::pair<std::string_view, std::string_view>> parameters;  ///< views into the text that was read
};

/// A parsed entry of `manager_options::nodes`.
template <class Options>
struct address {
    std::string name{};  ///< for logs and messages: without user, password and parameters
    std::vector<member> members;
    std::string user, password;
    bool tls = false;
    Options options;
    credentials_function credentials{};  ///< as in `manager_options`
};

/// The address at @p l. Its name is still empty. @p o: the options that its parameters do not set
template <class Options>
address<Options> address_at(location const& l, Options o)
{
    return {.members = l.members, .user = l.user, .password = l.password, .options = std::move(o)};
}

// The functions below throw std::invalid_argument. Its text names the mistake, and contains no secrets.

location read_location(std::string_view url, dialect const&);

/// Reads "500ms" or "2s". @param name the parameter, for messages
std::chrono::milliseconds read_duration(std::string_view name, std::string_view text);

/// @p value, @p least and @p most are in @p unit.
void check_range(std::string_view name, long long value, long long least, long long most, std::string_view unit);

[[noreturn]] void refuse(std::string const& what);

/// Checks options that a program has set. @param type the name of their class, for messages
template <class Options>
void check_defaults(Options const& o, void (*check)(Options const&), std::string const& type)
{
    try {
        check(o);
    } catch (std::invalid_argument const& e) {
        throw std::invalid_argument("redlock::" + type + ": " + e.what());
    }
}

}  // namespace redlock::stores::kit
