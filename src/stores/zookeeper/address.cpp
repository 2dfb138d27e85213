#include "stores/zookeeper/address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace redlock::stores::zookeeper {

namespace {

using kit::refuse;
using std::chrono::milliseconds;

constexpr milliseconds timeout_max{60'000};
constexpr milliseconds session_min{100}, session_max{3'600'000};

void read_option(std::string_view name, std::string_view value, zookeeper_options& o)
{
    // Another text may be a part of a password.
    bool const is_word = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == name.npos;
    if (name != "timeout" && name != "session")
        kit::refuse(fmt::format(
            "{} is not a parameter; the parameters after '?' are session and timeout, such as session=10s&timeout=1s",
            is_word ? fmt::format("\"{}\"", name) : "the text after '?'"));
    (name == "timeout" ? o.timeout : o.session) = kit::read_duration(name, value);
}

// The rules of ZooKeeper.
void check_path(std::string_view path)
{
    if (path.empty())
        return;
    for (auto rest = path.substr(1); path.front() == '/';) {
        auto const end = std::min(rest.find('/'), rest.size());
        auto const name = rest.substr(0, end);
        bool const is_printable =
            std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
        if (name.empty() || name == "." || name == ".." || !is_printable)
            break;
        if (end == rest.size())
            return;
        rest.remove_prefix(end + 1);
    }
    kit::refuse("the chroot must be a path such as /shop/locks, without a '/' at its end, \".\" or \"..\"");
}

}  // namespace

void check(zookeeper_options const& o)
{
    kit::check_range("session", o.session.count(), session_min.count(), session_max.count(), "ms");
    kit::check_range("timeout", o.timeout.count(), 1, timeout_max.count(), "ms");
    check_path(o.chroot);
}

address parse_address(std::string_view url, zookeeper_options defaults)
{
    auto const read = kit::read_location(url, {.scheme = "zookeeper://", .port = "2181", .path = "chroot"});
    auto a = kit::address_at(read, std::move(defaults));
    if (!read.path.empty())
        a.options.chroot = "/" + read.path;
    for (auto const& [name, value] : read.parameters)
        read_option(name, value, a.options);
    check(a.options);
    a.name = kit::to_string("zookeeper://", a.members) + a.options.chroot;
    return a;
}

}  // namespace redlock::stores::zookeeper
