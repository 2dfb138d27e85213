#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace redlock::net {

// What an address is made of, and how it is shown.

std::optional<long> to_number(std::string_view text, long low, long high);

/// Nothing, if a '%' is not followed by two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text);

/// What comes before any of @p marks; the text begins behind it then.
std::string_view take(std::string_view& text, std::string_view marks);

bool is_host_name(std::string_view host);
bool is_v6_address(std::string_view host);
bool is_address(std::string const& host);  ///< of either family

/// The text as it may be shown: without what is, or by a slip of the pen could be, a user's secret.
std::string shown(std::string_view text);

}  // namespace redlock::net
