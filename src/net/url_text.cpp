#include "net/url_text.hpp"

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <charconv>

namespace redlock::net {

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

std::string_view take(std::string_view& text, std::string_view marks)
{
    auto const end = std::min(text.find_first_of(marks), text.size());
    auto const taken = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return taken;
}

namespace {

bool is_number(std::string_view text)
{
    return !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == text.npos;
}

// Whether the text is one or several addresses, each at most a scheme, a host, a port and a number after a slash.
bool is_plain(std::string_view text)
{
    do {
        auto one = take(text, ",");
        if (auto const slash = one.find(":/"); slash != one.npos && is_host_name(one.substr(0, slash)))
            one.remove_prefix(std::min(one.find_first_not_of('/', slash + 1), one.size()));
        auto const path = one.find('/');
        auto const where = one.substr(0, path);
        auto const number = path == one.npos ? std::string_view("0") : one.substr(path + 1);
        auto const colon = where.ends_with(']') ? where.npos : where.rfind(':');
        auto host = where.substr(0, colon);
        if (host.starts_with('[') && host.ends_with(']'))
            host = is_v6_address(host.substr(1, host.size() - 2)) ? std::string_view("h") : std::string_view();
        bool const has_port = colon != where.npos;
        if (!is_host_name(host) || (has_port && !is_number(where.substr(colon + 1)))
            || !(number.empty() || is_number(number.substr(number.starts_with('-') ? 1 : 0))))
            return false;
    } while (!text.empty());
    return true;
}

}  // namespace

std::string shown(std::string_view text)
{
    if (is_plain(text))
        return std::string(text);
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
        // Perhaps a password without '@'.
        if (port.size() > 5 || port.find_first_not_of("0123456789") != std::string_view::npos) {
            result += std::string(rest.substr(0, colon + 1)) + "***";
            rest = {};
        }
    }
    // The text after these characters, or in place of a number, may contain a secret.
    auto end = rest.find_first_of("?#,;&= \t");
    if (auto const path = rest.find('/');
        scheme != "unix://" && path < end && rest.find_first_not_of("0123456789", path + 1) < end)
        end = path;
    result += end == std::string_view::npos ? std::string(rest) : std::string(rest.substr(0, end + 1)) + "***";
    for (auto& c : result) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = '?';
    }
    return result;
}

std::string lower(std::string_view text)
{
    std::string all(text);
    std::ranges::transform(all, all.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return all;
}

std::string with_lower_scheme(std::string_view url)
{
    auto const end = url.find("://");
    return end == url.npos ? std::string(url) : lower(url.substr(0, end)) + std::string(url.substr(end));
}

bool is_host_name(std::string_view host)
{
    return host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
           == std::string_view::npos;
}

bool is_v6_address(std::string_view host)
{
    boost::system::error_code ec;
    boost::asio::ip::make_address_v6(host, ec);
    return !ec;
}

bool is_address(std::string const& host)
{
    boost::system::error_code ec;
    boost::asio::ip::make_address(host, ec);
    return !ec;
}

}  // namespace redlock::net
