#include "stores/zookeeper/layout.hpp"

#include "core/told_time.hpp"
#include "net/url_text.hpp"

#include <fmt/format.h>

#include <charconv>

namespace redlock::stores::zookeeper {

namespace {

constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-:";

}  // namespace

std::string to_name(std::string_view bytes)
{
    std::string name;
    for (auto const c : bytes) {
        if (plain.find(c) != plain.npos)
            name += c;
        else
            name += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
    return name;
}

std::string from_name(std::string_view name) { return net::percent_decode(name).value_or(std::string(name)); }

std::optional<std::string> key_of(std::string_view name)
{
    return name.find('=') == name.npos ? std::optional(from_name(name)) : std::nullopt;
}

std::string layout::lock(std::string_view key) const { return locks() + "/" + to_name(key); }

std::string layout::holder(std::string_view key, std::string_view value) const
{
    return lock(key) + "=" + to_name(value);
}

std::string layout::turn(std::string_view key) const { return folder + "/turns/" + to_name(key); }

std::string layout::all_wanted(std::string_view key) const { return folder + "/wanted/" + to_name(key); }

std::string layout::wanted(std::string_view key, std::string_view contender) const
{
    return all_wanted(key) + "/" + to_name(contender);
}

std::string layout::counter(std::string_view key) const { return folder + "/counters/" + to_name(key); }

std::string layout::session(std::int64_t number) const
{
    return fmt::format("{}/sessions/{:016x}", folder, static_cast<std::uint64_t>(number));
}

std::string to_text(content const& c) { return fmt::format("{}\n{}", c.ttl->count(), c.value); }

content to_content(std::string_view text)
{
    auto const end = text.find('\n');
    long ttl = 0;
    if (end == text.npos || std::from_chars(text.data(), text.data() + end, ttl).ptr != text.data() + end)
        return {std::string(text), std::nullopt};
    return {std::string(text.substr(end + 1)), core::told_time<std::chrono::milliseconds>(ttl)};
}

}  // namespace redlock::stores::zookeeper
