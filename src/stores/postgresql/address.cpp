#include "stores/postgresql/address.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <stdexcept>

namespace redlock::pg {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t connections_max = 64;
constexpr milliseconds timeout_max{60'000};
constexpr auto form = "it must be postgresql://[user[:password]@]host[:port]/database, and what is special in user and password must be percent-encoded";
constexpr std::size_t table_max = 40;  // names of functions begin with it, and are cut off at 63

[[noreturn]] void refuse(std::string const& what)
{
    throw std::invalid_argument(what);
}

template <class Number>
bool read_number(std::string_view text, Number& to)
{
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), to);
    return ec == std::errc() && end == text.data() + text.size();
}

milliseconds to_duration(std::string_view text)
{
    auto const unit = std::min(text.find_first_not_of("0123456789"), text.size());
    long n = 0;
    if (!read_number(text.substr(0, unit), n) || n > timeout_max.count())
        refuse("timeout must be a number and \"ms\" or \"s\", at most a minute, such as timeout=500ms");
    if (text.substr(unit) == "s")
        return std::chrono::seconds(n);
    if (text.substr(unit) != "ms")
        refuse("timeout must end with \"ms\" or \"s\", such as timeout=500ms");
    return milliseconds(n);
}

bool to_switch(std::string_view name, std::string_view text)
{
    if (text != "on" && text != "off")
        refuse(fmt::format("{} must be on or off", name));
    return text == "on";
}

// @return false: it is not one of ours
bool read_option(std::string_view name, std::string_view value, postgresql_options& o)
{
    if (name == "table")
        o.table = value;
    else if (name == "connections" && !read_number(value, o.connections))
        refuse("connections must be a number");
    else if (name == "timeout")
        o.timeout = to_duration(value);
    else if (name == "notify")
        o.notify = to_switch(name, value);
    else if (name == "prepare")
        o.prepare = to_switch(name, value);
    else if (name == "session_pooler")
        o.session_pooler = to_switch(name, value);
    else if (name == "application_name")
        o.application_name = value;
    constexpr std::string_view ours[] = {"table", "connections", "timeout", "notify", "prepare", "session_pooler", "application_name"};
    return std::find(std::begin(ours), std::end(ours), name) != std::end(ours);
}

// The address without our own parameters, which are read.
std::string without_options(std::string_view url, postgresql_options& o)
{
    auto const question = url.find('?');
    std::string rest(url.substr(0, question));
    char mark = '?';
    for (auto query = question == url.npos ? std::string_view() : url.substr(question + 1); !query.empty();) {
        auto const end = std::min(query.find('&'), query.size());
        auto const one = query.substr(0, end);
        query.remove_prefix(std::min(end + 1, query.size()));
        auto const equals = std::min(one.find('='), one.size());
        if (read_option(one.substr(0, equals), one.substr(std::min(equals + 1, one.size())), o))
            continue;
        (rest += mark) += one;
        mark = '&';
    }
    return rest;
}

std::vector<std::pair<std::string, std::string>> settings_of(std::string const& url)
{
    char* text = nullptr;
    std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> const known(PQconninfoParse(url.c_str(), &text), PQconninfoFree);
    std::unique_ptr<char, void (*)(void*)> const words(text, PQfreemem);
    if (!known) {  // its words may quote a password
        std::string_view const why = words ? words.get() : "";
        constexpr std::string_view unknown = "invalid URI query parameter: ";
        refuse(why.starts_with(unknown) ? fmt::format("neither libpq nor redlock has the parameter {}", why.substr(unknown.size(), why.find('\n') - unknown.size()))
                                        : fmt::format("libpq does not take the address; {}", form));
    }
    std::vector<std::pair<std::string, std::string>> settings;
    for (auto const* s = known.get(); s->keyword; ++s) {
        if (s->val)
            settings.emplace_back(s->keyword, s->val);
    }
    return settings;
}

std::string name_of(address const& a)
{
    auto const setting = [&](std::string_view name) { return a.find(name) ? *a.find(name) : std::string(); };
    auto const hosts = split(setting(a.find("host") ? "host" : "hostaddr")), ports = split(setting("port"));
    std::string name = "postgresql://";
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        name += i > 0 ? "," : "";
        name += hosts[i];
        if (!ports.empty())
            name += ":" + ports[std::min(i, ports.size() - 1)];
    }
    if (auto const* const database = a.find("dbname"))
        name += "/" + *database;
    if (a.options.table != postgresql_options().table)
        name += "?table=" + a.options.table;
    return name;
}

}  // namespace

std::string const* address::find(std::string_view setting) const
{
    auto const known = std::find_if(settings.begin(), settings.end(), [&](auto& s) { return s.first == setting; });
    return known != settings.end() && !known->second.empty() ? &known->second : nullptr;
}

std::vector<std::string> address::list(std::string_view setting) const
{
    auto const* const text = find(setting);
    return text ? split(*text) : std::vector<std::string>();
}

std::vector<std::string> split(std::string_view text)
{
    std::vector<std::string> parts;
    while (!text.empty()) {
        auto const end = std::min(text.find(','), text.size());
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

address only(address a, found const& one)
{
    auto const set = [&](std::string_view name, std::string value) {
        std::erase_if(a.settings, [&](auto& s) { return s.first == name; });
        a.settings.emplace_back(name, std::move(value));
    };
    if (auto const ports = a.list("port"); !ports.empty())
        set("port", ports[std::min(one.host, ports.size() - 1)]);
    set("host", one.name);
    set("hostaddr", one.address);
    set("target_session_attrs", "any");  // what it is, we ask it
    return a;
}

void check(postgresql_options const& o)
{
    if (o.connections < 1 || o.connections > connections_max)
        refuse(fmt::format("connections is {}, but must be 1 to {}", o.connections, connections_max));
    if (o.timeout < milliseconds(1) || o.timeout > timeout_max)
        refuse(fmt::format("timeout is {} ms, but must be 1 to {} ms", o.timeout.count(), timeout_max.count()));
    auto const is_name = [](std::string_view n) {
        return !n.empty() && n.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == n.npos && (n.front() < '0' || n.front() > '9');
    };
    auto const dot = o.table.find('.');
    if (o.table.size() > table_max || !is_name(o.table.substr(dot == o.table.npos ? 0 : dot + 1)) || (dot != o.table.npos && !is_name(o.table.substr(0, dot))))
        refuse(fmt::format("table is \"{}\", but must be at most {} lower-case letters, digits and _, with a schema and a dot before it or without", o.table,
                           table_max));
}

address parse_address(std::string_view url, postgresql_options defaults)
{
    auto const where = url.substr(std::min(url.find("://") + 3, url.size()));
    auto const place = where.substr(0, where.find('?'));
    if (place.find('@', std::min(place.find_first_of("@/"), place.size() - 1) + 1) != place.npos)
        refuse(form);  // what would be host or database may be a part of the password
    address a;
    a.options = std::move(defaults);
    a.settings = settings_of(without_options(url, a.options));
    a.settings.emplace_back("application_name", a.options.application_name);
    if (!a.find("gssencmode"))
        a.settings.emplace_back("gssencmode", "disable");  // it may block
    check(a.options);
    a.name = name_of(a);
    return a;
}

std::string presentable(std::string text, address const& a)
{
    for (auto const* name : {"password", "sslpassword"}) {
        auto const* const secret = a.find(name);
        for (auto at = secret ? text.find(*secret) : text.npos; at != text.npos; at = text.find(*secret, at + 3))
            text.replace(at, secret->size(), "***");
    }
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    for (std::size_t at = 0; (at = text.find_first_of("\n\t", at)) != text.npos; ++at)
        text[at] = ' ';
    return text;
}

}  // namespace redlock::pg
