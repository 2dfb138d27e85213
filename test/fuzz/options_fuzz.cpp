// Any configuration and any options are refused with a message, or they are within the limits that other code relies
// on.

#include "locks/check.hpp"
#include "core/renewal.hpp"
#include "core/validity.hpp"
#include "fuzz/must.hpp"

#include <redlock/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

using namespace redlock;
using namespace std::chrono_literals;

namespace {

template <class T>
T take(std::uint8_t const*& data, std::size_t& size)
{
    T value{};
    auto const n = std::min(size, sizeof value);
    std::memcpy(&value, data, n);
    data += n;
    size -= n;
    return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    auto const ms = [&] { return std::chrono::milliseconds(take<std::int64_t>(data, size)); };
    manager_options c;
    c.node_timeout = ms();
    c.connect_timeout = ms();
    c.max_ttl = ms();
    c.drift_factor = take<double>(data, size);
    acquire_options o;
    o.ttl = ms();
    o.wait = ms();
    o.max_hold = ms();
    c.nodes.resize(take<std::uint8_t>(data, size), "memory://a");
    c.prefix.assign(take<std::uint16_t>(data, size) % 600, 'p');
    std::string const resource(reinterpret_cast<char const*>(data), size);

    locks::check_resource(resource, c.prefix);
    if (!locks::check(c).empty() || !locks::check(o, c).empty())
        return 0;
    must(o.ttl >= 20ms && o.ttl <= c.max_ttl && c.max_ttl <= 24h, "a ttl out of range was accepted");
    must(c.node_timeout > 0ms && c.node_timeout < o.ttl, "a node_timeout that is not below the ttl was accepted");
    must(c.drift_factor >= 0 && c.drift_factor <= 0.5, "a drift_factor out of range was accepted");
    // Sums of these values stay within their limits.
    auto const now = clock::time_point(std::chrono::hours(24 * 365 * 100));
    auto const until = core::valid_until(now, o.ttl, c.drift_factor);
    must(until < now + o.ttl && until > now, "a validity is longer than the ttl, or not positive");
    must(until - core::stop_margin(o.ttl) > now, "no time is left to work");
    must(core::renewal_due(now, o.ttl, ~0ull) > now && core::renewal_due(now, o.ttl, 0) < until,
         "a renewal is due too early or too late");
    must(core::later(now, o.wait) >= now && core::later(now, o.max_hold) >= now, "a wait ends before it begins");
    return 0;
}
