#pragma once

#include "stores/redis/resp.hpp"

#include <redlock/node.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::redis {

/// One reply as it came, down to the second level; what lies deeper is of no interest here.
struct reply {
    resp::type type = resp::type::none;
    std::string text;
    std::vector<std::string> elements;  ///< of an array or a map

    bool is_error() const noexcept { return type == resp::type::simple_error || type == resp::type::blob_error; }
};

/// What @p replies, one for each of the @ref commands_for it, mean as the answer to @p c. @p checks_type: it was put in
/// this manner. In the server's words, @p password and the value of @p c are left out.
node_reply interpret(node_command const& c, std::span<reply const> replies, std::string_view password = {},
                     bool checks_type = false);

/// What an error reply means: the code, and whether the server certainly carried nothing out.
node_reply interpret_error(std::string_view text, std::initializer_list<std::string_view> secrets = {});

/// Of a map: what stands behind @p name. Empty if it is not there.
std::string_view value_of(std::span<std::string const> names_and_values, std::string_view name);

/// Of a reply to INFO: what stands after @p label, up to any of the characters in @p end. Empty if it is not there.
std::string_view value_after(std::string_view text, std::string_view label, std::string_view end = "\r\n");

}  // namespace redlock::stores::redis
