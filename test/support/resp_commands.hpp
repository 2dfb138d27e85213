#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// The name of a command and its arguments.
using command = std::vector<std::string>;

/// Takes a command, `*2 $3 GET $1 a`, from the front of @p bytes. @return nothing if it is incomplete
inline std::optional<command> take_command(std::string_view& bytes)
{
    auto rest = bytes;
    auto const number = [&]() -> std::optional<std::size_t> {
        auto const end = rest.find("\r\n");
        if (end == rest.npos)
            return std::nullopt;
        std::size_t n = 0;
        std::from_chars(rest.data() + 1, rest.data() + end, n);
        rest.remove_prefix(end + 2);
        return n;
    };
    auto const size = number();
    if (!size)
        return std::nullopt;
    command c(*size);
    for (auto& argument : c) {
        auto const length = number();
        if (!length || rest.size() < *length + 2)
            return std::nullopt;
        argument = rest.substr(0, *length);
        rest.remove_prefix(*length + 2);
    }
    bytes = rest;
    return c;
}

/// Takes all complete commands.
inline std::vector<command> take_commands(std::string_view bytes)
{
    std::vector<command> all;
    while (auto c = take_command(bytes))
        all.push_back(*std::move(c));
    return all;
}

}  // namespace redlock::test
