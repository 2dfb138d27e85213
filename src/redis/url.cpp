#include "redis/url.hpp"

#include <boost/asio/ip/address_v6.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace redlock::redis {

namespace {

constexpr int database_max = 65'535;

std::optional<long> to_number(std::string_view text, long low, long high)
{
    long value = 0;
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc() || end != text.data() + text.size() || value < low || value > high)
        return std::nullopt;
    return value;
}

std::optional<std::string> percent_decode(std::string_view text)
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
            return std::nullopt;
        plain += static_cast<char>(value);
        i += 2;
    }
    return plain;
}

/// The text as it may be shown: without what is, or by a slip of the pen could be, a user's secret.
std::string shown(std::string_view text)
{
    auto const scheme_end = text.find("://");
    auto const scheme = text.substr(0, scheme_end == std::string_view::npos ? 0 : scheme_end + 3);
    auto rest = text.substr(scheme.size());
    std::string result(scheme);
    if (auto const at = rest.rfind('@'); at != std::string_view::npos) {
        result += "***";
        rest.remove_prefix(at);
    } else if (auto const colon = rest.find(':', rest.find(']') == std::string_view::npos ? 0 : rest.find(']'));
               colon != std::string_view::npos && (scheme != "unix://" || rest.front() != '/')) {
        auto const port = rest.substr(colon + 1, rest.find('/', colon) - colon - 1);
        if (port.size() > 5 || port.find_first_not_of("0123456789") != std::string_view::npos) {  // a password without '@'?
            result += std::string(rest.substr(0, colon + 1)) + "***";
            rest = {};
        }
    }
    // Behind these, and where a number is expected, anything may have been meant.
    auto end = rest.find_first_of("?#,;&= \t");
    if (auto const path = rest.find('/'); scheme != "unix://" && path < end && rest.find_first_not_of("0123456789", path + 1) < end)
        end = path;
    result += end == std::string_view::npos ? std::string(rest) : std::string(rest.substr(0, end + 1)) + "***";
    for (auto& c : result) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = '?';
    }
    return result;
}

bool is_host_name(std::string_view host)
{
    return host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == std::string_view::npos;
}

bool is_v6_address(std::string_view host)
{
    boost::system::error_code ec;
    boost::asio::ip::make_address_v6(host, ec);
    return !ec;
}

class parser {
public:
    explicit parser(std::string_view text) : text_(text) {}

    url run()
    {
        auto rest = text_;
        if (auto const end = rest.find("://"); end != std::string_view::npos) {
            if (!set_scheme(rest.substr(0, end)))
                return refuse("its scheme must be redis, rediss, valkey, valkeys, unix or memory, or that of a store in config::stores");
            rest.remove_prefix(end + 3);
        }
        switch (url_.transport) {
        case transport::memory:
            return memory(rest);
        case transport::unix_socket:
            return unix_socket(rest);
        case transport::tcp:
        case transport::tls:
            return tcp(rest);
        }
        return url_;
    }

private:
    bool set_scheme(std::string_view scheme)
    {
        if (scheme == "redis" || scheme == "valkey")
            url_.transport = transport::tcp;
        else if (scheme == "rediss" || scheme == "valkeys")
            url_.transport = transport::tls;
        else if (scheme == "unix")
            url_.transport = transport::unix_socket;
        else if (scheme == "memory")
            url_.transport = transport::memory;
        else
            return false;
        return true;
    }

    url memory(std::string_view rest)
    {
        if (rest.empty())
            return refuse("a name must follow \"memory://\"");
        url_.host = rest;
        return url_;
    }

    url unix_socket(std::string_view rest)
    {
        if (auto const at = rest.find("@/"); !rest.empty() && rest.front() != '/' && at != std::string_view::npos) {
            if (!set_credentials(rest.substr(0, at)))
                return url_;
            rest.remove_prefix(at + 1);
            if (rest.substr(0, rest.find('?')).find("@/") != std::string_view::npos)  // which may be a part of the password
                return refuse("an '@' in user, password or path of a Unix socket must be written %40");
        }
        auto const question = rest.find('?');
        url_.path = rest.substr(0, question);
        if (url_.path.size() < 2 || url_.path.front() != '/')
            return refuse("an absolute path must follow \"unix://\", or \"unix://user:password@\"");
        if (url_.path.size() > 107)
            return refuse("the path of a Unix socket has at most 107 bytes");
        if (question != std::string_view::npos) {
            auto const query = rest.substr(question + 1);
            if (query.substr(0, 3) != "db=")
                return refuse("what follows '?' must be \"db=\" and a number; user and password stand before the path: unix://user:password@/path");
            if (!set_database(query.substr(3)))
                return refuse(database_rule);
        }
        return url_;
    }

    url tcp(std::string_view rest)
    {
        if (auto const at = rest.rfind('@'); at != std::string_view::npos) {
            if (!set_credentials(rest.substr(0, at)))
                return url_;
            rest.remove_prefix(at + 1);
        }
        if (auto const mark = rest.find_first_of("?#"); mark != std::string_view::npos)
            return refuse("what follows '?' or '#' has no meaning here: timeouts, TLS and all else are in config, such as "
                          "config::connect_timeout, and a database stands behind a slash: redis://host/2");
        if (auto const slash = rest.find('/'); slash != std::string_view::npos) {
            auto const database = rest.substr(slash + 1);
            if (!database.empty() && !set_database(database))
                return refuse(database_rule);
            rest = rest.substr(0, slash);
        }
        auto host = rest;
        std::string_view port;
        if (!rest.empty() && rest.front() == '[') {  // an IPv6 address
            auto const bracket = rest.find(']');
            if (bracket == std::string_view::npos)
                return refuse("'[' is not followed by ']'");
            host = rest.substr(1, bracket - 1);
            port = rest.substr(bracket + 1);
        } else if (auto const colon = rest.find(':'); colon != std::string_view::npos) {
            host = rest.substr(0, colon);
            port = rest.substr(colon);
        }
        if (host.empty())
            return refuse("it names no host");
        if (rest.front() == '[' ? !is_v6_address(host) : !is_host_name(host))
            return refuse("its host is neither a name nor an address");
        url_.host = host;
        std::transform(url_.host.begin(), url_.host.end(), url_.host.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
        if (!port.empty()) {
            auto const number = port.front() == ':' ? to_number(port.substr(1), 1, 65'535) : std::nullopt;
            if (!number)
                return refuse("its port must be 1 to 65535");
            url_.port = std::to_string(*number);
        }
        return url_;
    }

    bool set_credentials(std::string_view text)
    {
        auto const colon = text.find(':');
        auto const user = percent_decode(text.substr(0, colon));
        auto const password = colon == std::string_view::npos ? std::optional<std::string>("")
                                                              : percent_decode(text.substr(colon + 1));
        if (!user || !password) {
            refuse("'%' in user or password must be followed by two hexadecimal digits");
            return false;
        }
        if (password->empty()) {
            refuse("a user must be followed by ':' and a password");
            return false;
        }
        url_.user = *user;
        url_.password = *password;
        return true;
    }

    bool set_database(std::string_view text)
    {
        auto const number = to_number(text, 0, database_max);
        url_.database = static_cast<int>(number.value_or(0));
        return number.has_value();
    }

    url refuse(std::string_view why)
    {
        url_ = {};
        url_.wrong = fmt::format("\"{}\" is no node: {}", shown(text_), why);
        return url_;
    }

    static constexpr std::string_view database_rule = "its database must be 0 to 65535";

    std::string_view text_;
    url url_;
};

}  // namespace

std::string url::name() const
{
    switch (transport) {
    case transport::memory:
        return "memory://" + host;
    case transport::unix_socket:
        return "unix://" + path;
    case transport::tcp:
    case transport::tls:
        break;
    }
    bool const v6 = host.find(':') != std::string::npos;
    return fmt::format("{}://{}{}{}:{}", transport == transport::tls ? "rediss" : "redis", v6 ? "[" : "", host,
                       v6 ? "]" : "", port);
}

url parse_url(std::string_view text)
{
    return parser(text).run();
}

}  // namespace redlock::redis
