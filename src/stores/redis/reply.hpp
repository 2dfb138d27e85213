#pragma once

#include "stores/redis/resp.hpp"

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

/// The value of @p name in a map. Empty: the map has no such name.
std::string_view value_of(std::span<std::string const> names_and_values, std::string_view name);

/// The text after @p label in a reply to INFO, up to one of the characters in @p end. Empty: there is no such label.
std::string_view value_after(std::string_view text, std::string_view label, std::string_view end = "\r\n");

}  // namespace redlock::stores::redis
