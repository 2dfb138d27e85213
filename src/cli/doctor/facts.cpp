#include "cli/doctor/facts.hpp"

#include <algorithm>
#include <charconv>

namespace redlock::cli::doctor {

namespace {

std::optional<std::int64_t> number_in(std::string_view text)
{
    std::int64_t value = 0;
    auto const ec = std::from_chars(text.data(), text.data() + text.size(), value).ec;
    return ec == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

void key_facts::named::add(std::string key, std::string type)
{
    if (count++ < named_max)
        first.emplace_back(std::move(key), std::move(type));
}

std::int64_t node_facts::number(std::string_view name) const
{
    return number_in(info.field(name)).value_or(0);
}

std::optional<std::int64_t> node_facts::setting(std::string_view name) const
{
    return number_in(settings.field(name));
}

bool node_facts::votes() const
{
    bool const grants = std::ranges::find(probe.done, "acquired") != probe.done.end();
    return grants && vote.is_connected && vote.quarantine.count() == 0;
}

}  // namespace redlock::cli::doctor
