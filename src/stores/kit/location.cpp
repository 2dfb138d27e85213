#include "stores/kit/location.hpp"

#include "net/url_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace redlock::stores::kit {

namespace {

using net::take;
using std::chrono::milliseconds;

std::string decode(std::string_view text, dialect const& d)
{
    auto plain = net::percent_decode(text);
    if (!plain)
        refuse(fmt::format("'%' in user, password or {} must be followed by two hexadecimal digits", d.path));
    return std::move(*plain);
}

member read_member(std::string_view text, dialect const& d)
{
    member m;
    auto port = std::string_view();
    if (text.starts_with('[')) {
        auto const end = text.find(']');
        m.host = text.substr(1, std::min(end, text.size()) - 1);
        port = text.substr(std::min(end, text.size() - 1) + 1);
        if (end == text.npos || !net::is_v6_address(m.host))
            refuse("the text in brackets is not an IPv6 address");
    } else {
        auto const colon = std::min(text.find(':'), text.size());
        m.host = text.substr(0, colon);
        port = text.substr(colon);
        std::transform(m.host.begin(), m.host.end(), m.host.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
        if (m.host.empty())
            refuse("it names no host");
        if (!net::is_host_name(m.host))
            refuse("a host is neither a name nor an address; special characters in user and password must be "
                   "percent-encoded");
    }
    auto const number = port.starts_with(':') ? net::to_number(port.substr(1), 1, 65'535) : std::nullopt;
    if (!port.empty() && !number)
        refuse("a port must be 1 to 65535");
    m.port = number ? std::to_string(*number) : std::string(d.port);
    return m;
}

location read_parts(std::string_view url, dialect const& d)
{
    location l;
    url.remove_prefix(std::min(url.find("://") + 3, url.size()));
    auto parameters = url;
    auto path = net::take(parameters, "?");
    auto hosts = net::take(path, "/");
    if (auto const at = hosts.rfind('@'); at != hosts.npos) {
        auto password = hosts.substr(0, at);
        l.user = decode(net::take(password, ":"), d);
        l.password = decode(password, d);
        if (l.user.empty() || l.password.empty())
            refuse(fmt::format("there must be a user and a password before '@': {}user:password@host", d.scheme));
        hosts.remove_prefix(at + 1);
    }
    l.path = decode(path, d);
    do
        l.members.push_back(read_member(net::take(hosts, ","), d));
    while (!hosts.empty());
    while (!parameters.empty()) {
        auto value = net::take(parameters, "&");
        auto const name = net::take(value, "=");
        l.parameters.emplace_back(name, value);
    }
    return l;
}

}  // namespace

void refuse(std::string const& what) { throw std::invalid_argument(what); }

std::string to_string(std::string_view scheme, std::vector<member> const& all)
{
    std::string text(scheme);
    for (auto const& m : all)
        text += (&m == &all.front() ? "" : ",") + net::to_string(m);
    return text;
}

location read_location(std::string_view url, dialect const& d)
{
    try {
        return read_parts(url, d);
    } catch (std::invalid_argument const& e) {
        throw std::invalid_argument(fmt::format("{0}; a valid address is, for example, {1}10.0.0.1:{2},10.0.0.2:{2}",
                                                e.what(), d.scheme, d.port));
    }
}

milliseconds read_duration(std::string_view name, std::string_view text)
{
    auto const unit = std::min(text.find_first_not_of("0123456789"), text.size());
    auto const n = net::to_number(text.substr(0, unit), 0, 10'000'000);
    bool const in_seconds = text.substr(unit) == "s";
    if (!n || (!in_seconds && text.substr(unit) != "ms"))
        refuse(fmt::format("{} must be a number and \"ms\" or \"s\", such as {}=2s", name, name));
    return in_seconds ? milliseconds(1000 * *n) : milliseconds(*n);
}

void check_range(std::string_view name, long long value, long long least, long long most, std::string_view unit)
{
    if (value < least || value > most)
        refuse(fmt::format("{} is {} {}, but must be {} to {} {}", name, value, unit, least, most, unit));
}

}  // namespace redlock::stores::kit
