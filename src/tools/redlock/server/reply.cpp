#include "tools/redlock/server/reply.hpp"

#include <algorithm>
#include <charconv>

namespace redlock::cli {

std::optional<std::int64_t> reply::number() const
{
    std::int64_t value = 0;
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    return what == kind::text && ec == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                                       : std::nullopt;
}

std::string reply::field(std::string_view name) const
{
    for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
        if (elements[i].text == name)
            return elements[i + 1].text;
    }
    auto rest = std::string_view(text);
    while (!rest.empty()) {
        auto const line = rest.substr(0, rest.find_first_of("\r\n"));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (line.starts_with(name) && line.substr(name.size()).starts_with(':'))
            return std::string(line.substr(name.size() + 1));
    }
    return {};
}

}  // namespace redlock::cli
