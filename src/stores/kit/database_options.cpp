#include "stores/kit/database_options.hpp"

#include "net/secrets.hpp"
#include "net/url_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace redlock::stores::kit {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t connections_max = 64;
constexpr milliseconds timeout_max{60'000};

}  // namespace

std::size_t to_count(std::string_view name, std::string_view text)
{
    auto const n = net::to_number(text, 0, std::numeric_limits<long>::max());
    if (!n)
        refuse(fmt::format("{} must be a number", name));
    return static_cast<std::size_t>(*n);
}

milliseconds to_timeout(std::string_view text)
{
    auto const unit = std::min(text.find_first_not_of("0123456789"), text.size());
    auto const n = net::to_number(text.substr(0, unit), 0, timeout_max.count());
    if (!n)
        refuse("timeout must be a number and \"ms\" or \"s\", at most a minute, such as timeout=500ms");
    if (text.substr(unit) == "s")
        return std::chrono::seconds(*n);
    if (text.substr(unit) != "ms")
        refuse("timeout must end with \"ms\" or \"s\", such as timeout=500ms");
    return milliseconds(*n);
}

bool to_switch(std::string_view name, std::string_view text)
{
    if (text != "on" && text != "off")
        refuse(fmt::format("{} must be on or off", name));
    return text == "on";
}

bool is_name(std::string_view text)
{
    return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == text.npos
           && (text.front() < '0' || text.front() > '9');
}

void check(std::size_t connections, milliseconds timeout)
{
    if (connections < 1 || connections > connections_max)
        refuse(fmt::format("connections is {}, but must be 1 to {}", connections, connections_max));
    kit::check_range("timeout", timeout.count(), 1, timeout_max.count(), "ms");
}

std::string presentable(std::string_view text, std::initializer_list<std::string_view> secrets)
{
    auto words = net::without(text, secrets);
    words.resize(words.find_last_not_of('\n') + 1);
    std::replace_if(
        words.begin(), words.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return words;
}

}  // namespace redlock::stores::kit
