#include "stores/etcd/layout.hpp"

#include "core/key.hpp"
#include "core/told_time.hpp"

#include <fmt/format.h>

#include <charconv>

namespace redlock::stores::etcd {

namespace {

// The result has no line feed, because a line feed ends the value.
std::string escape(std::string_view value)
{
    std::string text;
    for (auto const c : value) {
        if (c == '\n' || c == '\\')
            text += '\\';
        text += c == '\n' ? 'n' : c;
    }
    return text;
}

std::string unescape(std::string_view text)
{
    std::string value;
    for (std::size_t i = 0; i < text.size(); ++i) {
        bool const escaped = text[i] == '\\' && i + 1 < text.size();
        auto const c = escaped ? text[++i] : text[i];
        value += escaped && c == 'n' ? '\n' : c;
    }
    return value;
}

}  // namespace

std::string layout::lock(std::string_view key) const { return prefix + std::string(key); }

std::string layout::counter(std::string_view key) const { return prefix + core::fence_key(key); }

std::string layout::all_wanted(std::string_view key) const { return prefix + core::wanted_key(key) + "/"; }

std::string layout::wanted(std::string_view key, std::string_view contender) const
{
    return all_wanted(key).append(contender);
}

std::string layout::turn(std::string_view key) const { return prefix + core::handovers_key(key); }

std::string to_text(content const& c) { return fmt::format("{}\n{}", escape(c.value), c.ttl->count()); }

content to_content(std::string_view text)
{
    auto const end = text.rfind('\n');
    long ttl = 0;
    if (end == text.npos || std::from_chars(text.data() + end + 1, text.data() + text.size(), ttl).ec != std::errc())
        return {std::string(text), std::nullopt};
    return {unescape(text.substr(0, end)), core::told_time<std::chrono::milliseconds>(ttl)};
}

void add_holds(std::vector<std::string>& conditions, std::string_view key, std::string_view value)
{
    auto const text = escape(value) + '\n';
    conditions.push_back(is_greater(key, text));
    conditions.push_back(is_less(key, text + static_cast<char>('9' + 1)));
}

std::string to_text(std::uint64_t counter) { return fmt::format("{:020}", counter); }

std::string raise_to(std::string const& key, std::uint64_t number, std::string_view lease)
{
    auto const set = put(key, to_text(number), lease);
    auto const if_lower = transaction_text{{is_less(key, to_text(number))}, {set}, {}}.step();
    return transaction_text{{is_missing(key)}, {set}, {if_lower}}.step();
}

bool was_raised(json::object const& step) { return is_true(step, "succeeded") || is_true(inner(step, 0), "succeeded"); }

}  // namespace redlock::stores::etcd
