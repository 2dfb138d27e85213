#include "tools/serve/access.hpp"

#include "tools/serve/keyed_hash.hpp"

#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace redlock::serve {

namespace {

constexpr std::size_t token_min = 16, token_name_max = 64;

[[noreturn]] void refuse(std::size_t line, std::string const& why)
{
    throw std::invalid_argument("line " + std::to_string(line) + ": " + why);
}

// A word in a wrong column may be a token, which must not be in a message.
std::string unless_token(std::string_view word)
{
    return word.size() < token_min ? '"' + std::string(word) + '"' : "of " + std::to_string(word.size()) + " bytes";
}

// Null: there is no such right.
bool grant::*find_right(std::string_view name)
{
    constexpr std::array<std::pair<std::string_view, bool grant::*>, 4> rights{
        {{"lock", &grant::locks}, {"read", &grant::reads}, {"break", &grant::breaks}, {"metrics", &grant::metrics}}};
    auto const found = std::ranges::find(rights, name, [](auto const& r) { return r.first; });
    return found == rights.end() ? nullptr : found->second;
}

bool grant::*right_named(std::string_view name, std::size_t line)
{
    auto const found = find_right(name);
    if (!found)
        refuse(line, "there is no right " + unless_token(name) + "; there are lock, read, break and metrics");
    return found;
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
        g.line = number;
        std::string rights, more;
        if (!(words >> g.token) || g.token.front() == '#')
            continue;
        bool const is_key = g.token == "key";
        bool const is_short = !(words >> g.prefix) || (!is_key && !(words >> rights));
        if (is_short || (!is_key && words >> g.name && words >> more) || (is_key && words >> more)
            || rights.ends_with(','))
            refuse(number, "it must have a token, a prefix, rights, and perhaps a name, such as: TOKEN jobs/ lock,read "
                           "reports");
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
        all.check_name(g);
        all.grants_.push_back(std::move(g));
    }
    if (all.grants_.empty())
        throw std::invalid_argument("it has no token");
    all.check_names();
    all.own_keys_ = all.keys_.size();
    if (all.keys_.empty())
        all.keys_.push_back(all.all_tokens());
    return all;
}

void access::check_name(grant const& g) const
{
    auto const is_wrong = [](char c) { return c <= ' ' || c > '~' || c == '"'; };
    if (g.name.size() > token_name_max || std::ranges::any_of(g.name, is_wrong) || g.name.starts_with('#'))
        refuse(g.line, "the name of the token must have at most 64 printable characters of ASCII, no quotation mark, "
                       "and no # at its beginning");
    if (find_right(g.name))
        refuse(g.line, '"' + g.name + "\" is a right, and no name: write commas between rights, and no spaces");
    auto const first = std::ranges::find(grants_, g.token, &grant::token);
    if (first != grants_.end() && first->name != g.name)
        refuse(g.line, "the name of the token is not the one on line " + std::to_string(first->line));
}

// A name is written to the log.
void access::check_names() const
{
    for (auto const& g : grants_) {
        bool const is_key = std::ranges::find(keys_, g.name) != keys_.end();
        if (is_key || std::ranges::find(grants_, g.name, &grant::token) != grants_.end())
            refuse(g.line, "the name of the token is itself a token, or a key");
    }
}

void access::believe(access const& before)
{
    constexpr std::size_t earlier_max = 16;
    for (auto i = before.own_keys_; i < before.keys_.size() && keys_.size() < own_keys_ + earlier_max; ++i) {
        if (std::ranges::find(keys_, before.keys_[i]) == keys_.end())
            keys_.push_back(before.keys_[i]);
    }
}

bool access::is_same_file(access const& other) const
{
    auto const own = [](access const& a) { return std::span(a.keys_).first(a.own_keys_); };
    return grants_ == other.grants_ && std::ranges::equal(own(*this), own(other));
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

bool access::knows(std::string_view authorization) const { return knows_client(bearer(authorization)); }

bool access::knows_client(std::string_view token) const
{
    return !needs_tokens_ || std::ranges::count_if(grants_, [&](auto& g) { return is_same(g.token, token); }) > 0;
}

std::string access::client_of(std::string_view authorization) const
{
    return needs_tokens_ ? std::string(bearer(authorization)) : std::string();
}

std::string access::in_words(std::string_view client) const
{
    if (!needs_tokens_)
        return "client";
    auto const known = std::ranges::find_if(grants_, [&](auto& g) { return is_same(g.token, client); });
    if (known == grants_.end())
        return client.empty() ? "client without a token" : "unknown token";
    return known->name.empty() ? "token on line " + std::to_string(known->line) : "token \"" + known->name + '"';
}

std::string access::name_of(std::string_view client) const
{
    auto const known = std::ranges::find_if(grants_, [&](auto& g) { return is_of(g, client); });
    return known == grants_.end() ? std::string() : known->name;
}

bool access::permits(std::string_view client, bool grant::*what, std::string_view name) const
{
    return std::ranges::count_if(
               grants_, [&](grant const& g) { return is_of(g, client) && g.*what && name.starts_with(g.prefix); })
           > 0;
}

std::string const* access::may_not_lock(std::string_view client, std::span<std::string const> names) const
{
    auto const refused = std::ranges::find_if(names, [&](auto& name) { return !permits(client, &grant::locks, name); });
    return refused == names.end() ? nullptr : &*refused;
}

}  // namespace redlock::serve
