#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace redlock::net {

/// Replaces @p secret in @p text by `***`. Finds it as it is, in upper or lower case, percent-encoded, or escaped as in
/// C or JSON. If a quotation breaks off in the middle of the secret, also finds its beginning.
std::string without(std::string text, std::string_view secret);

/// The message of a server in a form that may be shown: printable and of bounded length. It contains neither
/// @p secrets, in any encoding, nor the command that Redis quotes.
std::string presentable(std::string_view text, std::initializer_list<std::string_view> secrets = {});

}  // namespace redlock::net
