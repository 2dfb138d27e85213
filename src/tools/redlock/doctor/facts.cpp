#include "tools/redlock/doctor/facts.hpp"

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

durability_state::lack lack_of(node_facts const& f)
{
    using enum durability_state::lack;
    if (f.info.field("aof_enabled") != "1")
        return log;
    if (f.info.field("aof_last_write_status") != "ok")
        return written;
    if (f.settings.field("appendfsync") != "always")
        return synced;
    if (f.settings.field("no-appendfsync-on-rewrite") != "no")
        return synced_on_rewrite;
    bool const is_rewritten = f.info.field("aof_rewrite_in_progress") != "0"
                              || f.info.field("aof_rewrite_scheduled") != "0";
    return is_rewritten ? complete : nothing;
}

}  // namespace

void key_facts::named::add(key k)
{
    if (count++ < named_max)
        first.push_back(std::move(k));
}

std::int64_t node_facts::number(std::string_view name) const { return number_in(info.field(name)).value_or(0); }

std::optional<std::int64_t> node_facts::setting(std::string_view name) const { return number_in(settings.field(name)); }

std::chrono::microseconds node_facts::round_trip(std::size_t percent) const
{
    auto sorted = round_trips;
    std::ranges::sort(sorted);
    return sorted[(sorted.size() * percent + 99) / 100 - 1];
}

bool node_facts::votes() const
{
    bool const grants = std::ranges::find(probe.done, "acquired") != probe.done.end();
    return grants && vote.is_connected && vote.quarantine.count() == 0;
}

durability_state durability_of(node_facts const& f)
{
    return {.lacks = lack_of(f), .from_start = f.info.field("aof_last_rewrite_time_sec") == "-1"};
}

}  // namespace redlock::cli::doctor
