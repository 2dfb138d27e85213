#include "output/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>

namespace redlock::bench {

namespace {

std::string grouped(std::string digits)
{
    auto const first = std::size_t(digits.starts_with('-'));
    for (auto i = digits.size(); i > first + 3;) {
        i -= 3;
        digits.insert(i, ",");
    }
    return digits;
}

std::string grouped(double value) { return grouped(fmt::format("{:.0f}", value)); }

std::string grouped(std::uint64_t value) { return grouped(std::to_string(value)); }

double rounded(double value, int digits)
{
    auto const text = fmt::format("{:.{}g}", value, digits);
    double nearest = value;
    std::from_chars(text.data(), text.data() + text.size(), nearest);  // unlike strtod, independent of the locale
    return nearest;
}

std::string joined(std::string text, std::string_view more)
{
    return text.empty() ? std::string(more) : text.append(", ").append(more);
}

bool is_versus(result const& r) { return r.scenario.starts_with("versus: "); }

}  // namespace

std::string plain(double value, int digits)
{
    return std::isfinite(value) ? fmt::format("{}", rounded(value, digits)) : std::string();
}

std::string figure(double value)
{
    if (!std::isfinite(value))
        return "-";
    auto const size = std::abs(rounded(value, 3));  // 99.96 is shown as 100, not as 100.0
    if (size == 0)
        return "0";
    if (size >= 1e12 || size < 0.001)
        return fmt::format("{:.3g}", value);
    if (size >= 100)
        return grouped(value);
    return fmt::format("{:.{}f}", value, size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

std::string figure_or_whole(double value)
{
    return std::abs(value) < 1e12 && value == std::floor(value) ? grouped(value) : figure(value);
}

std::string duration(double us)
{
    if (!std::isfinite(us))
        return "-";
    auto const near = std::abs(rounded(us, 3));  // 999.9 us is shown as 1.00 ms, not as 1000 us
    if (near < 1e3)
        return fmt::format("{} us", figure(us));
    if (near < 1e6)
        return fmt::format("{} ms", figure(us / 1e3));
    return near < 1e8 ? fmt::format("{:.1f} s", us / 1e6) : fmt::format("{} s", figure(us / 1e6));
}

std::string percent(double share)
{
    if (!std::isfinite(share))
        return "-";
    return std::abs(share) < 0.9995 ? fmt::format("{:.1f} %", share * 100) : figure(share * 100) + " %";
}

std::string change(double before, double after)
{
    if (!std::isfinite(before) || !std::isfinite(after))
        return "-";
    if (before == after)
        return "0.0 %";
    if (before == 0)
        return "from 0";
    auto const share = (after - before) / std::abs(before);
    return (share > 0 ? "+" : "") + percent(share);
}

std::string plus_minus(double spread) { return "±" + percent(spread / 2); }

std::string counted(std::uint64_t count, std::string_view noun)
{
    return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string label(result const& r)
{
    if (is_versus(r))
        return r.variant;
    auto const text = fmt::format("{}, {}", counted(r.nodes, "node"), counted(r.clients, "client"));
    return r.variant.empty() ? text : joined(text, r.variant);
}

bool floor_is_redlock(result const& r) { return is_versus(r) && r.variant != "redlock"; }

bool measured(percentiles const& p) { return p.max > 0 || p.p50 > 0; }

std::optional<double> times_floor(double us, std::optional<double> floor_us)
{
    return floor_us && *floor_us > 0 ? std::optional(us / *floor_us) : std::nullopt;
}

std::string machine_entry(run const& r, std::string const& name)
{
    auto const found = r.machine.find(name);
    return found == r.machine.end() ? "unknown " + name : found->second;
}

std::uint64_t failure_count(result const& r)
{
    std::uint64_t sum = 0;
    for (auto const& failure : r.failures)
        sum += failure.second;
    return sum;
}

std::string failures_text(result const& r)
{
    std::string text;
    for (auto const& [what, count] : r.failures)
        text = joined(std::move(text), fmt::format("{} {}", grouped(count), what));
    return text;
}

std::string disturbed_text(result const& r)
{
    return r.disturbed == 0
               ? std::string()
               : fmt::format("{} of {} disturbed by other processes", r.disturbed, counted(r.rounds, "round"));
}

std::string spaced(std::string_view name)
{
    std::string text(name);
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
}

std::size_t width(std::string_view text)
{
    return std::size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

result const* find_like(run const& in, result const& r)
{
    auto const same = [&](result const& other) {
        return std::tie(r.scenario, r.variant, r.nodes, r.clients)
               == std::tie(other.scenario, other.variant, other.nodes, other.clients);
    };
    auto const found = std::find_if(in.results.begin(), in.results.end(), same);
    return found == in.results.end() ? nullptr : &*found;
}

rate_change change_of(result const& before, result const& after)
{
    auto const spread = std::max(before.spread, after.spread);  // of the ratio; without a floor, of cycles/s
    if (before.ratio_to_floor && after.ratio_to_floor)
        return {"ratio to floor", *before.ratio_to_floor, *after.ratio_to_floor, spread};
    return {"cycles/s", before.cycles_per_second, after.cycles_per_second, spread};
}

std::vector<scenario> scenarios_of(run const& r)
{
    std::vector<scenario> all;
    for (auto const& one : r.results) {
        auto const same = [&](scenario const& s) { return s.name == one.scenario; };
        auto found = std::find_if(all.begin(), all.end(), same);
        if (found == all.end())
            found = all.insert(all.end(), scenario{one.scenario, {}});
        found->results.push_back(&one);
    }
    return all;
}

}  // namespace redlock::bench
