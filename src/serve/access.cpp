#include "serve/access.hpp"

#include "serve/keyed_hash.hpp"

#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
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
    constexpr std::array<std::pair<std::string_view, bool grant::*>, 4> rights{
        {{"lock", &grant::locks}, {"read", &grant::reads}, {"break", &grant::breaks}, {"metrics", &grant::metrics}}};
    auto const found = std::ranges::find(rights, name, [](auto const& r) { return r.first; });
    if (found == rights.end())
        refuse(line, "there is no right \"" + std::string(name) + "\"; there are lock, read, break and metrics");
    return found->second;
}

std::string_view bearer(std::string_view authorization)
{
    constexpr std::string_view scheme = "Bearer ";
    auto const given = authorization.substr(0, scheme.size());
    return boost::beast::iequals(given, scheme) ? authorization.substr(scheme.size()) : std::string_view();
}

}  // namespace

// Clients without tokens may do everything, so the key keeps nobody out. It shows which ids are the service's own.
access::access() : grants_{{.locks = true, .reads = true, .breaks = true, .metrics = true}}, keys_{"redlock serve"} {}

access access::read(std::string_view text)
{
    access all;
    all.grants_.clear();
    all.keys_.clear();
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
        bool const is_key = g.token == "key";
        if (!(words >> g.prefix) || (!is_key && !(words >> rights)) || (words >> more))
            refuse(number, "it must have a token, a prefix and rights, such as: TOKEN jobs/ lock,read");
        auto const& secret = is_key ? g.prefix : g.token;
        if (secret.size() < token_min)
            refuse(number, std::string("the ") + (is_key ? "key" : "token") + " has " + std::to_string(secret.size())
                               + " bytes, but must have 16 at least");
        if (is_key) {
            all.keys_.push_back(std::move(g.prefix));
            continue;
        }
        if (g.prefix == "*")
            g.prefix.clear();
        std::istringstream names(rights);
        for (std::string name; std::getline(names, name, ',');)
            g.*right_named(name, number) = true;
        all.grants_.push_back(std::move(g));
    }
    if (all.grants_.empty())
        throw std::invalid_argument("it has no token");
    if (all.keys_.empty())
        all.keys_.push_back(all.all_tokens());
    return all;
}

std::string access::all_tokens() const
{
    std::set<std::string_view> tokens;
    for (auto const& g : grants_)
        tokens.insert(g.token);
    std::string all;
    for (auto const& token : tokens)
        all.append(token).append("\n");
    return all;
}

bool access::permits_anywhere(std::string_view client, bool grant::*what) const
{
    return std::ranges::count_if(grants_, [&](grant const& g) { return is_of(g, client) && g.*what; }) > 0;
}

bool access::is_of(grant const& g, std::string_view client) const { return !needs_tokens_ || is_same(g.token, client); }

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
    return std::ranges::count_if(
               grants_, [&](grant const& g) { return is_of(g, client) && g.*what && name.starts_with(g.prefix); })
           > 0;
}

}  // namespace redlock::serve
