#pragma once

#include <string_view>

namespace redlock::core {

/** Whether @p text matches @p pattern, as for the commands KEYS and SCAN of Redis.

    `*` stands for any bytes, `?` for one byte, `[a-z]` for one of some bytes and `[^a-z]` for one of the others. A
    backslash takes the special meaning from the next character. A `[` without its `]` reaches to the end.
*/
bool matches(std::string_view pattern, std::string_view text) noexcept;

/// The part of @p pattern before its first special character. Each text that matches begins with it.
std::string_view literal_head(std::string_view pattern) noexcept;

}  // namespace redlock::core
