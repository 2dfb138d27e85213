#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace redlock::net {

// The parts of an address, and a form of it that may be shown.

std::optional<long> to_number(std::string_view text, long low, long high);

/// Returns nothing if a '%' is not followed by two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text);

/// Returns the text before the first of @p marks, and removes it and the mark from @p text.
std::string_view take(std::string_view& text, std::string_view marks);

std::string lower(std::string_view text);  ///< ASCII letters in lower case

/// @p url with its scheme in lower case, because the case of a scheme has no meaning.
std::string with_lower_scheme(std::string_view url);

bool is_host_name(std::string_view host);
bool is_v6_address(std::string_view host);
bool is_address(std::string const& host);  ///< an IPv4 or IPv6 address

/// The text in a form that may be shown: without secrets, and without what may be a secret after a typing error.
std::string shown(std::string_view text);

}  // namespace redlock::net
