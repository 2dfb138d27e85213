#pragma once

#include "stores/redis/resp.hpp"

#include <redlock/node.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::redis {

/// One reply, without elements below the second level.
struct reply {
    resp::type type = resp::type::none;
    std::string text;
    std::vector<std::string> elements;  ///< of an array or a map

    bool is_error() const noexcept { return type == resp::type::simple_error || type == resp::type::blob_error; }
};

/// Interprets the @p replies to @p c: one for each of its @ref commands_for. The text of an error contains neither
/// @p password nor the value of @p c.
/// @param checks_type the command was encoded so: see manner
node_reply interpret(node_command const& c, std::span<reply const> replies, std::string_view password = {},
                     bool checks_type = false);

/// The code of an error reply, and whether it is certain that the server changed nothing.
node_reply interpret_error(std::string_view text, std::initializer_list<std::string_view> secrets = {});

/// The value of @p name in a map. Empty: the map has no such name.
std::string_view value_of(std::span<std::string const> names_and_values, std::string_view name);

/// The text after @p label in a reply to INFO, up to one of the characters in @p end. Empty: there is no such label.
std::string_view value_after(std::string_view text, std::string_view label, std::string_view end = "\r\n");

}  // namespace redlock::stores::redis
