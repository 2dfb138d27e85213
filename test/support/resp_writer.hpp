#pragma once

#include "stores/redis/reply.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::test {

/// Appends the bytes of a text: `$5 hello`.
inline void append_bulk_string(std::string& to, std::string_view text, char mark = '$')
{
    to += mark;
    to.append(fmt::format_int(text.size()).c_str()).append("\r\n").append(text).append("\r\n");
}

inline std::string bulk_string(std::string_view text)
{
    std::string all;
    append_bulk_string(all, text);
    return all;
}

/// Appends the bytes of the reply @p r.
inline void append_reply(std::string& to, stores::redis::reply const& r)
{
    constexpr std::string_view marks = "_+-:_$!=#,(*%~>";  // in the order of the enumerators
    using stores::redis::resp::type;
    auto const mark = marks[static_cast<std::size_t>(r.type)];
    switch (r.type) {
    case stores::redis::resp::type::blob_string:
    case stores::redis::resp::type::blob_error:
    case stores::redis::resp::type::verbatim_string:
        return append_bulk_string(to, r.text, mark);
    case stores::redis::resp::type::array:
    case stores::redis::resp::type::map:
    case stores::redis::resp::type::set:
    case stores::redis::resp::type::push:
        to += mark;
        to.append(fmt::format_int(r.elements.size() / (r.type == stores::redis::resp::type::map ? 2 : 1)).c_str())
            .append("\r\n");
        for (auto const& e : r.elements)
            append_bulk_string(to, e);
        return;
    case stores::redis::resp::type::none:
    case stores::redis::resp::type::null:
    case stores::redis::resp::type::simple_string:
    case stores::redis::resp::type::simple_error:
    case stores::redis::resp::type::number:
    case stores::redis::resp::type::boolean:
    case stores::redis::resp::type::real:
    case stores::redis::resp::type::big_number:
        to += mark;
        to.append(r.text).append("\r\n");
        return;
    }
}

/// The push by which a server says that @p key has changed; empty: any key may have changed.
inline std::string invalidation_of(std::string_view key)
{
    return ">2\r\n" + bulk_string("invalidate") + (key.empty() ? "_\r\n" : "*1\r\n" + bulk_string(key));
}

}  // namespace redlock::test
