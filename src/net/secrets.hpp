#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace redlock::net {

/** @p text with `***` wherever @p secret stands in it: as it is, in upper or lower case, percent-encoded, or escaped as
    in C or JSON; also its beginning, where a quotation ends in the middle of it.
*/
std::string without(std::string text, std::string_view secret);

/// The server's words as they may be shown: printable, of bounded length, without what it quotes of our command in the
/// way of Redis, and without @p secrets, in whatever way it quotes these.
std::string presentable(std::string_view text, std::initializer_list<std::string_view> secrets = {});

}  // namespace redlock::net
