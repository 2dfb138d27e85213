#pragma once

#include <string>
#include <string_view>

namespace redlock::redis {

/** @p text with `***` wherever @p secret stands in it: as it is, in upper or lower case, percent-encoded, or escaped as in C or
    JSON; also its beginning, where a quotation ends in the middle of it.
*/
std::string without(std::string text, std::string_view secret);

}  // namespace redlock::redis
