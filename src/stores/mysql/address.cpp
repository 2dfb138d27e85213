#include "stores/mysql/address.hpp"

#include "stores/mysql/take.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace redlock::my {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t connections_max = 64;
constexpr milliseconds timeout_max{60'000};
constexpr std::size_t table_max = 40;  // names of procedures begin with it, and have 64 letters at most
constexpr auto form = "it must be mysql://user[:password]@host[:port]/database, and what is special in user and password must be percent-encoded";

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

std::string decode(std::string_view what, std::string_view text)
{
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned value = 0;
        auto const digits = text.substr(std::min(i + 1, text.size()), 2);
        bool const encoded = text[i] == '%';
        auto const [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (encoded && (digits.size() != 2 || ec != std::errc() || end != digits.data() + 2 || value == 0))
            refuse(fmt::format("behind % in the {} must be two hexadecimal digits, and not 00", what));
        plain += encoded ? static_cast<char>(value) : text[i];
        i += encoded ? 2 : 0;
    }
    return plain;
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

security to_security(std::string_view text)
{
    if (text != "on" && text != "off" && text != "unverified")
        refuse("tls must be on, off or unverified");
    return text == "on" ? security::verified : text == "off" ? security::off : security::unverified;
}

void read_parameter(std::string_view name, std::string const& value, address& a)
{
    if (name == "table")
        a.options.table = value;
    else if (name == "connections") {
        if (!read_number(value, a.options.connections))
            refuse("connections must be a number");
    } else if (name == "timeout")
        a.options.timeout = to_duration(value);
    else if (name == "create_table")
        a.options.create_table = to_switch(name, value);
    else if (name == "tls")
        a.tls = to_security(value);
    else if (name == "ssl_ca")
        a.ssl_ca = value;
    else if (name == "ssl_cert")
        a.ssl_cert = value;
    else if (name == "ssl_key")
        a.ssl_key = value;
    else if (name == "socket")
        a.socket = value;
    else
        refuse("it has a parameter that is none of table, connections, timeout, create_table, tls, ssl_ca, ssl_cert, ssl_key and socket");
}

void read_parameters(std::string_view query, address& a)
{
    bool says_tls = false;
    while (!query.empty()) {
        auto value = take(query, '&');
        auto const name = take(value, '=');
        says_tls = says_tls || name == "tls";
        read_parameter(name, decode(name, value), a);
    }
    bool const has_files = !a.ssl_ca.empty() || !a.ssl_cert.empty() || !a.ssl_key.empty();
    if (has_files && !says_tls)
        a.tls = security::verified;
    if (has_files && a.tls == security::off)
        refuse("tls is off, but ssl_ca, ssl_cert or ssl_key is there");
    if (a.ssl_cert.empty() != a.ssl_key.empty())
        refuse("of ssl_cert and ssl_key neither is of use without the other");
}

void read_host(std::string_view text, address& a)
{
    bool const in_brackets = text.starts_with('[');
    if (in_brackets && text.find(']') == text.npos)
        refuse("behind [ in the host must be ]");
    if (in_brackets)
        text.remove_prefix(1);
    auto port = text;
    a.host = take(port, in_brackets ? ']' : ':');
    if (in_brackets && !port.empty() && !port.starts_with(':'))
        refuse("behind ] must be the port, or nothing");
    if (in_brackets && !port.empty())
        port.remove_prefix(1);
    if (a.host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:%") != a.host.npos)
        refuse(form);  // it may be a part of the password
    if (text.size() > a.host.size() && !port.empty() && (!read_number(port, a.port) || a.port == 0))
        refuse(fmt::format("behind the host must be a port, 1 to 65535; {}", form));
}

std::string name_of(address const& a)
{
    bool const in_brackets = a.host.find(':') != a.host.npos;
    auto const place = a.socket.empty() ? fmt::format("{}{}{}:{}", in_brackets ? "[" : "", a.host, in_brackets ? "]" : "", a.port) : a.socket;
    auto name = "mysql://" + place + "/" + a.database;
    if (a.options.table != mysql_options().table)
        name += "?table=" + a.options.table;
    return name;
}

}  // namespace

void check(mysql_options const& o)
{
    if (o.connections < 1 || o.connections > connections_max)
        refuse(fmt::format("connections is {}, but must be 1 to {}", o.connections, connections_max));
    if (o.timeout < milliseconds(1) || o.timeout > timeout_max)
        refuse(fmt::format("timeout is {} ms, but must be 1 to {} ms", o.timeout.count(), timeout_max.count()));
    auto const& t = o.table;
    if (t.empty() || t.size() > table_max || t.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != t.npos || (t.front() >= '0' && t.front() <= '9'))
        refuse(fmt::format("table is \"{}\", but must be 1 to {} lower-case letters, digits and _, and no digit first", t, table_max));
}

address parse_address(std::string_view url, mysql_options defaults)
{
    address a;
    a.options = std::move(defaults);
    url.remove_prefix(std::min(url.find("://") + 3, url.size()));
    auto rest = take(url, '?');
    auto const at = rest.rfind('@');
    if (at == rest.npos || at == 0 || rest.front() == ':')
        refuse(fmt::format("it has no user; {}", form));
    auto who = rest.substr(0, at);
    if (who.find('/') != who.npos)
        refuse(form);
    rest.remove_prefix(at + 1);
    a.user = decode("user", take(who, ':'));
    a.password = decode("password", who);
    read_host(take(rest, '/'), a);
    a.database = decode("database", rest);
    read_parameters(url, a);
    check(a.options);
    if (a.database.empty())
        refuse(fmt::format("it has no database; {}", form));
    if (a.host.empty() == a.socket.empty())
        refuse(a.host.empty() ? fmt::format("it has no host; {}", form) : "it has a host and a socket; a socket stands in the place of the host: mysql://user@/database?socket=FILE");
    a.name = name_of(a);
    return a;
}

std::string presentable(std::string text, address const& a)
{
    auto const& secret = a.password;
    for (auto at = secret.empty() ? text.npos : text.find(secret); at != text.npos; at = text.find(secret, at + 3))
        text.replace(at, secret.size(), "***");
    std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return text;
}

}  // namespace redlock::my
