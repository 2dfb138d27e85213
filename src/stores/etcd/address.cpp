#include "stores/etcd/address.hpp"

#include <fmt/format.h>

#include <utility>

namespace redlock::stores::etcd {

namespace {

using kit::refuse;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds timeout_max{60'000};
constexpr seconds session_min{2}, session_max{3600};
constexpr std::size_t prefix_max = 256;

void read_option(std::string_view name, std::string_view value, etcd_options& o)
{
    if (name == "timeout") {
        o.timeout = kit::read_duration(name, value);
    } else if (name == "session") {
        auto const session = kit::read_duration(name, value);
        o.session = std::chrono::duration_cast<seconds>(session);
        if (o.session != session)
            kit::refuse(fmt::format("session is {} ms, but must be whole seconds", session.count()));
    } else {
        kit::refuse("the parameters after '?' must be session or timeout, such as session=10s&timeout=1s");
    }
}

}  // namespace

void check(etcd_options const& o)
{
    kit::check_range("session", o.session.count(), session_min.count(), session_max.count(), "s");
    kit::check_range("timeout", o.timeout.count(), 1, timeout_max.count(), "ms");
    if (o.prefix.size() > prefix_max)
        kit::refuse(fmt::format("prefix has {} bytes, but must have at most {}", o.prefix.size(), prefix_max));
}

address parse_address(std::string_view url, etcd_options defaults)
{
    auto const read = kit::read_location(url, {.scheme = "etcd://", .port = "2379", .path = "prefix"});
    auto a = kit::address_at(read, std::move(defaults));
    a.tls = url.starts_with("etcds://");
    if (!read.path.empty())
        a.options.prefix = read.path;
    for (auto const& [name, value] : read.parameters)
        read_option(name, value, a.options);
    check(a.options);
    a.name = kit::to_string(a.tls ? "etcds://" : "etcd://", a.members)
             + (a.options.prefix.empty() ? "" : "/" + a.options.prefix);
    return a;
}

}  // namespace redlock::stores::etcd
