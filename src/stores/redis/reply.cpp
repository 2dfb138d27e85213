#include "stores/redis/reply.hpp"

#include <cstddef>

namespace redlock::stores::redis {

std::string_view value_of(std::span<std::string const> names_and_values, std::string_view name)
{
    for (std::size_t i = 0; i + 1 < names_and_values.size(); i += 2) {
        if (names_and_values[i] == name)
            return names_and_values[i + 1];
    }
    return {};
}

std::string_view value_after(std::string_view text, std::string_view label, std::string_view end)
{
    auto const begin = text.find(label);
    if (begin == std::string_view::npos)
        return {};
    auto const rest = text.substr(begin + label.size());
    return rest.substr(0, rest.find_first_of(end));
}

}  // namespace redlock::stores::redis
