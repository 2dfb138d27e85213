#include "stores/mysql/address.hpp"

#include "net/secrets.hpp"
#include "net/url_text.hpp"
#include "stores/kit/database_options.hpp"
#include "stores/kit/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace redlock::stores::mysql {

namespace {

using kit::refuse;
using kit::take;

constexpr auto form = "it must be mysql://user[:password]@host[:port]/database, and special characters in user and "
                      "password must be percent-encoded";

std::string decode(std::string_view what, std::string_view text)
{
    auto plain = net::percent_decode(text);
    if (!plain || plain->find('\0') != plain->npos)
        kit::refuse(fmt::format("each % in the {} needs two hexadecimal digits behind it, other than 00", what));
    return std::move(*plain);
}

security to_security(std::string_view text)
{
    if (text != "on" && text != "off" && text != "unverified")
        kit::refuse("tls must be on, off or unverified");
    return text == "on" ? security::verified : text == "off" ? security::off : security::unverified;
}

void read_parameter(std::string_view name, std::string const& value, address& a)
{
    if (name == "create_table")
        a.options.create_table = kit::to_switch(name, value);
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
    else if (!kit::read_option(name, value, a.options))
        kit::refuse(
            "it has an unknown parameter; known are table, connections, timeout, create_table, tls, ssl_ca, ssl_cert, "
            "ssl_key and socket");
}

void read_parameters(std::string_view query, address& a)
{
    bool says_tls = false;
    while (!query.empty()) {
        auto value = kit::take(query, '&');
        auto const name = kit::take(value, '=');
        says_tls = says_tls || name == "tls";
        read_parameter(name, decode(name, value), a);
    }
    bool const has_files = !a.ssl_ca.empty() || !a.ssl_cert.empty() || !a.ssl_key.empty();
    if (has_files && !says_tls)
        a.tls = security::verified;
    if (has_files && a.tls == security::off)
        kit::refuse("tls is off, but ssl_ca, ssl_cert or ssl_key is set");
    if (a.ssl_cert.empty() != a.ssl_key.empty())
        kit::refuse("ssl_cert and ssl_key must be set together");
}

void read_host(std::string_view text, address& a)
{
    bool const in_brackets = text.starts_with('[');
    if (in_brackets && text.find(']') == text.npos)
        kit::refuse("behind [ in the host must be ]");
    if (in_brackets)
        text.remove_prefix(1);
    auto port = text;
    a.host = kit::take(port, in_brackets ? ']' : ':');
    if (in_brackets && !port.empty() && !port.starts_with(':'))
        kit::refuse("behind ] must be the port, or nothing");
    if (in_brackets && !port.empty())
        port.remove_prefix(1);
    if (a.host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:%") != a.host.npos)
        kit::refuse(form);  // the text may be a part of the password, so the message does not show it
    if (text.size() == a.host.size() || port.empty())
        return;
    auto const number = net::to_number(port, 1, 65'535);
    if (!number)
        kit::refuse(fmt::format("behind the host must be a port, 1 to 65535; {}", form));
    a.port = static_cast<std::uint16_t>(*number);
}

std::string name_of(address const& a)
{
    bool const in_brackets = a.host.find(':') != a.host.npos;
    auto const place = a.socket.empty()
                           ? fmt::format("{}{}{}:{}", in_brackets ? "[" : "", a.host, in_brackets ? "]" : "", a.port)
                           : a.socket;
    return "mysql://" + place + "/" + a.database + kit::shown_table(a.options);
}

}  // namespace

void check(mysql_options const& o)
{
    kit::check(o.connections, o.timeout);
    if (o.table.size() > kit::table_max || !kit::is_name(o.table))
        kit::refuse(
            fmt::format("table is \"{}\", but must be 1 to {} lower-case letters, digits and _, and no digit first",
                        o.table, kit::table_max));
}

address parse_address(std::string_view url, mysql_options defaults)
{
    address a;
    a.options = std::move(defaults);
    url.remove_prefix(std::min(url.find("://") + 3, url.size()));
    auto rest = kit::take(url, '?');
    auto const at = rest.rfind('@');
    if (at == rest.npos || at == 0 || rest.front() == ':')
        kit::refuse(fmt::format("it has no user; {}", form));
    auto who = rest.substr(0, at);
    if (who.find('/') != who.npos)
        kit::refuse(form);
    rest.remove_prefix(at + 1);
    a.user = decode("user", kit::take(who, ':'));
    a.password = decode("password", who);
    read_host(kit::take(rest, '/'), a);
    a.database = decode("database", rest);
    read_parameters(url, a);
    check(a.options);
    if (a.database.empty())
        kit::refuse(fmt::format("it has no database; {}", form));
    if (a.host.empty() == a.socket.empty())
        kit::refuse(a.host.empty() ? fmt::format("it has no host; {}", form)
                                   : "it has a host and a socket; name only one of them, such as "
                                     "mysql://user@/database?socket=FILE");
    a.name = name_of(a);
    return a;
}

void address::use(redlock::credentials who)
{
    user = std::move(who.user);
    password = std::move(who.password);
}

std::string presentable(std::string_view text, address const& a)
{
    return kit::presentable(text, {net::secret_of(a.password, a.user, a.database)});
}

}  // namespace redlock::stores::mysql
