#include "serve/access.hpp"

#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace redlock::serve {

namespace {

constexpr std::size_t token_min = 16;

[[noreturn]] void refuse(std::size_t line, std::string const& why)
{
    throw std::invalid_argument("line " + std::to_string(line) + ": " + why);
}

bool grant::*right_named(std::string_view name, std::size_t line)
{
    constexpr std::array<std::pair<std::string_view, bool grant::*>, 3> rights{
        {{"lock", &grant::locks}, {"read", &grant::reads}, {"break", &grant::breaks}}};
    auto const found = std::ranges::find(rights, name, [](auto const& r) { return r.first; });
    if (found == rights.end())
        refuse(line, "there is no right \"" + std::string(name) + "\"; there are lock, read and break");
    return found->second;
}

std::string_view bearer(std::string_view authorization)
{
    constexpr std::string_view scheme = "Bearer ";
    auto const given = authorization.substr(0, scheme.size());
    return boost::beast::iequals(given, scheme) ? authorization.substr(scheme.size()) : std::string_view();
}

// Compares in a time that does not depend on where the texts differ.
bool is_same(std::string_view a, std::string_view b)
{
    unsigned difference = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
    return difference == 0;
}

}  // namespace

access::access() : grants_{{.locks = true, .reads = true, .breaks = true}} {}

access access::read(std::string_view text)
{
    access all;
    all.grants_.clear();
    all.needs_tokens_ = true;
    std::istringstream lines{std::string(text)};
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        std::istringstream words(line);
        grant g;
        std::string rights, more;
        if (!(words >> g.token) || g.token.front() == '#')
            continue;
        if (!(words >> g.prefix >> rights) || (words >> more))
            refuse(number, "it must have a token, a prefix and rights, such as: TOKEN jobs/ lock,read");
        if (g.token.size() < token_min)
            refuse(number, "the token has " + std::to_string(g.token.size()) + " bytes, but must have 16 at least");
        if (g.prefix == "*")
            g.prefix.clear();
        std::istringstream names(rights);
        for (std::string name; std::getline(names, name, ',');)
            g.*right_named(name, number) = true;
        all.grants_.push_back(std::move(g));
    }
    if (all.grants_.empty())
        throw std::invalid_argument("it has no token");
    return all;
}

bool access::knows(std::string_view authorization) const
{
    auto const token = bearer(authorization);
    return !needs_tokens_ || std::ranges::count_if(grants_, [&](auto& g) { return is_same(g.token, token); }) > 0;
}

std::string access::client_of(std::string_view authorization) const
{
    return needs_tokens_ ? std::string(bearer(authorization)) : std::string();
}

bool access::permits(std::string_view client, bool grant::*what, std::string_view name) const
{
    return std::ranges::count_if(grants_,
                                 [&](grant const& g) {
                                     bool const is_ours = !needs_tokens_ || is_same(g.token, client);
                                     return is_ours && g.*what && name.starts_with(g.prefix);
                                 })
           > 0;
}

}  // namespace redlock::serve
