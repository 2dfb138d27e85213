#pragma once

#include "stores/kit/database_address.hpp"

#include <redlock/manager_options.hpp>
#include <redlock/postgresql.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::postgresql {

/// The contents of an entry of `manager_options::nodes`.
struct address : kit::database_address {
    std::map<std::string, std::string, std::less<>> settings;  ///< parameters of libpq
    postgresql_options options;

    redlock::credentials log_in() const { return {get("user"), get("password")}; }
    void use(redlock::credentials);  ///< changes user and password
    std::string get(std::string_view setting) const;
    std::vector<std::string> list(std::string_view setting) const;  ///< the parts between commas
};

/// The schema of the tables.
std::string schema_of(postgresql_options const&);

/// The name of the first table, without its schema.
std::string bare_table_of(postgresql_options const&);

/// The name of the first table, with its schema.
std::string full_table_of(postgresql_options const&);

/// An address of a host.
struct found {
    std::size_t host;  ///< the index of the host
    std::string name;
    std::string address;  ///< empty: a Unix socket
    friend bool operator==(found const&, found const&) = default;
};

/// @p a with @p one as its only host.
address only(address a, found const& one);

/// @throws std::invalid_argument if @p url is not valid; the message contains no secrets
address parse_address(std::string_view url, postgresql_options defaults);

/// @throws std::invalid_argument naming the option, the value and the limit
void check(postgresql_options const&);

/// @p text without the known passwords, in one line.
std::string presentable(std::string_view text, address const&);

}  // namespace redlock::stores::postgresql
