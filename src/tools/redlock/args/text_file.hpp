#pragma once

#include <string_view>

namespace redlock::cli {

/// The text of a file without the byte order mark that some editors put before it.
inline std::string_view without_byte_order_mark(std::string_view text)
{
    constexpr std::string_view mark = "\xef\xbb\xbf";
    return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

}  // namespace redlock::cli
