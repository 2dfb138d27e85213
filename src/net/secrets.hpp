#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace redlock::net {

// These functions make texts for people. The client decides on the text that the server sent, before these change it.

/// The message of a server, with each of @p secrets replaced by `***`. Finds a secret as it is, in upper or lower case,
/// percent-encoded, or escaped as in C or JSON. If a quotation breaks off in the middle of the secret, also finds its
/// beginning. If the gap would reveal the secret, a sentence takes the place of the whole message.
std::string without(std::string_view text, std::initializer_list<std::string_view> secrets);

/// The message of a server in a form that may be shown: printable and of bounded length. It contains neither
/// @p secrets, as @ref without, nor the command that Redis quotes.
std::string presentable(std::string_view text, std::initializer_list<std::string_view> secrets = {});

/// @p password, or empty if the address shows the same word as the name of the user or of the database.
std::string_view secret_of(std::string_view password, std::string_view user, std::string_view database = {});

}  // namespace redlock::net
