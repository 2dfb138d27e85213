#include "stores/redis/shared_settings.hpp"

#include "net/secrets.hpp"
#include "stores/redis/reply.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace redlock::stores::redis {

namespace {

std::string_view name_of(restart_guard guard)
{
    switch (guard) {
    case restart_guard::automatic:
        return "automatic";
    case restart_guard::strict:
        return "strict";
    case restart_guard::off:
        return "off";
    }
    return {};
}

constexpr std::array<std::string_view, 6> names{"nodes",          "max_ttl",      "restart_guard",
                                                "allow_eviction", "drift_factor", "fencing"};

// The text after "name=" in a line of words.
std::string_view value_in(std::string_view line, std::string_view name)
{
    for (std::size_t at = 0; at < line.size();) {
        auto const end = std::min(line.find(' ', at), line.size());
        auto const word = line.substr(at, end - at);
        if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=')
            return word.substr(name.size() + 1);
        at = end + 1;
    }
    return {};
}

}  // namespace

std::string shared_settings(manager_options const& c)
{
    return fmt::format("nodes={} max_ttl={} restart_guard={} allow_eviction={} drift_factor={} fencing={}",
                       c.nodes.size(), c.max_ttl.count(), name_of(c.restart_guard), c.allow_eviction, c.drift_factor,
                       c.fencing);
}

std::vector<std::pair<std::string_view, std::vector<std::string>>> values_of(std::vector<std::string> const& lines)
{
    std::vector<std::pair<std::string_view, std::vector<std::string>>> all;
    for (auto const name : names) {
        auto& values = all.emplace_back(name, std::vector<std::string>()).second;
        for (auto const& line : lines) {
            auto value = net::presentable(value_in(line, name));
            if (!value.empty() && std::find(values.begin(), values.end(), value) == values.end())
                values.push_back(std::move(value));
        }
    }
    return all;
}

std::vector<std::string> differences(std::string_view ours, std::string_view theirs)
{
    std::vector<std::string> all;
    for (auto const& [name, values] : values_of({std::string(ours), std::string(theirs)})) {
        bool const is_stricter = name == "restart_guard" && values.back() == name_of(restart_guard::strict);
        if (values.size() == 2 && !is_stricter)
            all.push_back(fmt::format("another client has used {}={} within the last hour, this one {}", name,
                                      values[1], values[0]));
    }
    return all;
}

}  // namespace redlock::stores::redis
