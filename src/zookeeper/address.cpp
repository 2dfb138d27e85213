#include "zookeeper/address.hpp"

#include <boost/asio/ip/address_v6.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

namespace redlock::zk {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds timeout_max{60'000};
constexpr milliseconds session_min{100}, session_max{3'600'000};

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

// What comes before @p mark; the text begins behind it then.
std::string_view take(std::string_view& text, std::string_view mark)
{
    auto const end = std::min(text.find_first_of(mark), text.size());
    auto const taken = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return taken;
}

std::string percent_decode(std::string_view text)
{
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            plain += text[i];
            continue;
        }
        unsigned value = 0;
        auto const digits = text.substr(i + 1, 2);
        auto const [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (digits.size() != 2 || ec != std::errc() || end != digits.data() + 2)
            refuse("'%' in user, password or chroot must be followed by two hexadecimal digits");
        plain += static_cast<char>(value);
        i += 2;
    }
    return plain;
}

milliseconds to_duration(std::string_view name, std::string_view text)
{
    auto const unit = std::min(text.find_first_not_of("0123456789"), text.size());
    long n = 0;
    bool const in_seconds = text.substr(unit) == "s";
    if (!read_number(text.substr(0, unit), n) || n > 10'000'000 || (!in_seconds && text.substr(unit) != "ms"))
        refuse(fmt::format("{} must be a number and \"ms\" or \"s\", such as {}=2s", name, name));
    return in_seconds ? milliseconds(1000 * n) : milliseconds(n);
}

void read_option(std::string_view name, std::string_view value, zookeeper_options& o)
{
    bool const is_word = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == name.npos;  // else it may be a part of a password
    if (name != "timeout" && name != "session")
        refuse(fmt::format("{} is none of its parameters: what follows '?' must be session or timeout, such as session=10s&timeout=1s",
                           is_word ? fmt::format("\"{}\"", name) : "what stands there"));
    (name == "timeout" ? o.timeout : o.session) = to_duration(name, value);
}

bool is_v6_address(std::string_view host)
{
    boost::system::error_code ec;
    boost::asio::ip::make_address_v6(host, ec);
    return !ec;
}

member to_member(std::string_view text)
{
    member m;
    auto port = std::string_view();
    if (text.starts_with('[')) {
        auto const end = text.find(']');
        m.host = text.substr(1, std::min(end, text.size()) - 1);
        port = text.substr(std::min(end, text.size() - 1) + 1);
        if (end == text.npos || !is_v6_address(m.host))
            refuse("what stands in brackets is no IPv6 address");
    } else {
        auto const colon = std::min(text.find(':'), text.size());
        m.host = text.substr(0, colon);
        port = text.substr(colon);
        std::transform(m.host.begin(), m.host.end(), m.host.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
        if (m.host.empty())
            refuse("it names no host");
        if (m.host.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") != m.host.npos)
            refuse("a host is neither a name nor an address; what is special in user and password must be percent-encoded");
    }
    unsigned number = 0;
    if (!port.empty() && (port.front() != ':' || !read_number(port.substr(1), number) || number < 1 || number > 65'535))
        refuse("a port must be 1 to 65535");
    if (number != 0)
        m.port = std::to_string(number);
    return m;
}

void read_credentials(std::string_view text, address& to)
{
    to.user = percent_decode(take(text, ":"));
    to.password = percent_decode(text);
    if (to.user.empty() || to.password.empty())
        refuse("before '@' must stand a user and a password: zookeeper://user:password@host");
}

std::string name_of(address const& a)
{
    std::string name = "zookeeper://";
    for (auto const& m : a.members)
        name += (&m == &a.members.front() ? "" : ",") + to_string(m);
    return name + a.options.chroot;
}

// As ZooKeeper itself does.
void check_path(std::string_view path)
{
    if (path.empty())
        return;
    for (auto rest = path.substr(1); path.front() == '/';) {
        auto const end = std::min(rest.find('/'), rest.size());
        auto const name = rest.substr(0, end);
        bool const is_printable = std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
        if (name.empty() || name == "." || name == ".." || !is_printable)
            break;
        if (end == rest.size())
            return;
        rest.remove_prefix(end + 1);
    }
    refuse("the chroot must be a path such as /shop/locks, without a '/' at its end, \".\" or \"..\"");
}

}  // namespace

std::string to_string(member const& m)
{
    return m.host.find(':') == m.host.npos ? m.host + ":" + m.port : "[" + m.host + "]:" + m.port;
}

void check(zookeeper_options const& o)
{
    if (o.session < session_min || o.session > session_max)
        refuse(fmt::format("session is {} ms, but must be {} to {} ms", o.session.count(), session_min.count(), session_max.count()));
    if (o.timeout < milliseconds(1) || o.timeout > timeout_max)
        refuse(fmt::format("timeout is {} ms, but must be 1 to {} ms", o.timeout.count(), timeout_max.count()));
    check_path(o.chroot);
}

address parse_address(std::string_view url, zookeeper_options defaults)
{
    address a;
    a.options = std::move(defaults);
    url.remove_prefix(std::min(url.find("://") + 3, url.size()));
    auto parameters = url;
    auto rest = take(parameters, "?");
    auto hosts = take(rest, "/");
    if (auto const at = hosts.rfind('@'); at != hosts.npos) {
        read_credentials(hosts.substr(0, at), a);
        hosts.remove_prefix(at + 1);
    }
    if (!rest.empty())
        a.options.chroot = "/" + percent_decode(rest);
    do
        a.members.push_back(to_member(take(hosts, ",")));
    while (!hosts.empty());
    while (!parameters.empty()) {
        auto value = take(parameters, "&");
        auto const name = take(value, "=");
        read_option(name, value, a.options);
    }
    check(a.options);
    a.name = name_of(a);
    return a;
}

}  // namespace redlock::zk
