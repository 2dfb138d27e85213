#include "tools/serve/query.hpp"

#include "tools/serve/fields.hpp"

#include <algorithm>
#include <charconv>

namespace redlock::serve {

void must_have_only(target const& t, std::initializer_list<std::string_view> known)
{
    for (auto const& [name, value] : t.query) {
        if (std::ranges::find(known, name) == known.end())
            throw unknown_field("parameter", name, known);
    }
}

std::size_t limit_in(target const& t)
{
    constexpr std::size_t usual = 100, most = 1000;
    auto const limit = number_in(t, "limit", usual);
    if (limit == 0 || limit > most)
        throw wrong_field("limit is " + std::to_string(limit) + ", but must be 1 to " + std::to_string(most));
    return limit;
}

std::size_t number_in(target const& t, std::string const& name, std::size_t otherwise)
{
    auto const given = t.query.find(name);
    if (given == t.query.end())
        return otherwise;
    std::size_t n = 0;
    auto const& text = given->second;
    auto const read = std::from_chars(text.data(), text.data() + text.size(), n);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size())
        throw wrong_field(name + " is \"" + text.substr(0, 100) + "\", but must be a number");
    return n;
}

}  // namespace redlock::serve
