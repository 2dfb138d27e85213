#pragma once

#include "stores/kit/location.hpp"

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace redlock::stores::kit {

// The options that all databases share. Errors are std::invalid_argument; their texts contain no secrets.

inline constexpr std::size_t table_max = 40;  ///< names of functions begin with it, and have at most 63 letters

using kit::refuse;

std::size_t to_count(std::string_view name, std::string_view text);
std::chrono::milliseconds to_timeout(std::string_view text);
bool to_switch(std::string_view name, std::string_view text);

/// @return false: @p name is not one of the shared options
template <class Options>
bool read_option(std::string_view name, std::string_view value, Options& o)
{
    if (name == "table")
        o.table = value;
    else if (name == "connections")
        o.connections = to_count(name, value);
    else if (name == "timeout")
        o.timeout = to_timeout(value);
    else
        return false;
    return true;
}

/// Whether @p text consists of lower-case letters, digits and '_', and does not begin with a digit.
bool is_name(std::string_view text);

void check(std::size_t connections, std::chrono::milliseconds timeout);

/// The part of a shown address that names the table. Empty for the default table.
template <class Options>
std::string shown_table(Options const& o)
{
    return o.table == Options().table ? std::string() : "?table=" + o.table;
}

/// @p text in one line, without @p secrets, as @ref net::without.
std::string presentable(std::string_view text, std::initializer_list<std::string_view> secrets);

}  // namespace redlock::stores::kit
