#include "output/charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace redlock::bench {

namespace {

constexpr std::size_t lines_per_chart = 4;  // each has a floor, too

std::string microseconds(double us)
{
    return us < 1e3 ? fmt::format("{:.3g} µs", us) : us < 1e6 ? fmt::format("{:.3g} ms", us / 1e3)
                                                            : fmt::format("{:.3g} s", us / 1e6);
}

std::string seconds(double s)
{
    return plain(s);
}

/// The axis of percentiles: each nine as far as the one before.
double nines(double share)
{
    return -std::log10(1 - share);
}

points on_nines(std::vector<std::pair<double, double>> const& curve, percentiles const& p)
{
    points all;
    for (auto const& [share, us] : curve) {
        if (share >= 0.5 && share <= 0.9999)
            all.emplace_back(nines(share), us);
    }
    if (all.empty() && measured(p))
        all = {{nines(0.5), p.p50}, {nines(0.9), p.p90}, {nines(0.99), p.p99}, {nines(0.999), p.p999}};
    return all;
}

line percentile_line(result const& r)
{
    return {.name = label(r),
            .library = on_nines(r.curve, r.cycle_us),
            .floor = on_nines(r.floor_curve, r.floor_cycle_us.value_or(percentiles{}))};
}

void include(axis& a, points const& all)
{
    for (auto const& point : all) {
        if (std::isfinite(point.second) && point.second > 0) {
            a.low = std::min(a.low, point.second);
            a.high = std::max(a.high, point.second);
        }
    }
}

points timeline_points(timeline const& t)
{
    points all;
    for (double rate : t.cycles_per_second)
        all.emplace_back((double(all.size()) + 0.5) * t.slice_seconds, rate);  // the middle of the slice
    return all;
}

using number_of = std::size_t result::*;

std::string name_without(result const& r, number_of varied)
{
    auto const rest = varied == &result::nodes ? counted(r.clients, "client") : counted(r.nodes, "node");
    return r.variant.empty() ? rest : fmt::format("{}, {}", rest, r.variant);
}

/// Results that differ in @p varied only, by what they have in common; two make a line.
std::vector<std::vector<result const*>> families(scenario const& s, number_of varied)
{
    auto const fixed = varied == &result::nodes ? &result::clients : &result::nodes;
    std::map<std::pair<std::string, std::size_t>, std::map<std::size_t, result const*>> found;
    for (auto const* r : s.results)
        found[{r->variant, r->*fixed}][r->*varied] = r;
    std::vector<std::vector<result const*>> all;
    for (auto const& family : found) {
        if (family.second.size() < 2)
            continue;
        all.emplace_back();
        for (auto const& member : family.second)
            all.back().push_back(member.second);
    }
    return all;
}

using figure_of = std::optional<double> (*)(result const&);

points against(std::vector<result const*> const& family, number_of varied, figure_of y)
{
    points all;
    for (auto const* r : family) {
        if (auto const value = y(*r))
            all.emplace_back(double(r->*varied), *value);
    }
    return all;
}

axis axis_of(number_of varied, std::vector<std::vector<result const*>> const& all)
{
    bool const clients = varied == &result::clients;
    axis a{.label = clients ? "clients (logarithmic)" : "nodes", .logarithmic = clients};
    std::set<std::size_t> values;
    for (auto const& family : all) {
        for (auto const* r : family)
            values.insert(r->*varied);
    }
    for (auto const v : values)
        a.ticks.push_back({double(v), figure_or_whole(double(v))});
    return a;
}

std::optional<double> cpu(result const& r) { return r.client_cpu_us_per_cycle; }
std::optional<double> floor_cpu(result const& r) { return r.floor_cpu_us_per_cycle; }
std::optional<double> ratio(result const& r) { return r.ratio_to_floor; }

void add_cost_charts(std::vector<chart>& charts, scenario const& s, number_of varied)
{
    auto const all = families(s, varied);
    std::string_view const by = varied == &result::nodes ? "nodes" : "clients";
    chart costs{.title = fmt::format("Client CPU per cycle against {}", by),
                .x = axis_of(varied, all),
                .y = {.label = "CPU time per cycle", .text = microseconds}};
    chart ratios{.title = fmt::format("Throughput against {}, as a share of the floor’s", by),
                 .x = axis_of(varied, all),
                 .y = {.label = "ratio to the floor", .text = compact},
                 .reference = tick{1, "the floor"}};
    bool any_ratio = false;
    for (auto const& family : all) {
        auto const name = name_without(*family.front(), varied);
        costs.lines.push_back({name, against(family, varied, cpu), against(family, varied, floor_cpu)});
        ratios.lines.push_back({name, against(family, varied, ratio), {}});
        any_ratio = any_ratio || !ratios.lines.back().library.empty();
    }
    if (!all.empty())
        charts.push_back(std::move(costs));
    if (any_ratio)
        charts.push_back(std::move(ratios));
}

}  // namespace

std::vector<chart> percentile_charts(scenario const& s)
{
    axis x{.label = "share of cycles that took at most this long"};
    for (auto const& [share, text] : {std::pair{0.5, "50 %"}, {0.9, "90 %"}, {0.99, "99 %"}, {0.999, "99.9 %"},
                                      {0.9999, "99.99 %"}})
        x.ticks.push_back({nines(share), text});
    x.low = x.ticks.front().value;
    x.high = x.ticks.back().value;
    axis y{.label = "time of a cycle (logarithmic)", .logarithmic = true, .text = microseconds};

    std::vector<line> lines;
    for (auto const* r : s.results) {
        auto l = percentile_line(*r);
        include(y, l.library);
        include(y, l.floor);
        if (!l.library.empty())
            lines.push_back(std::move(l));
    }
    auto const count = (lines.size() + lines_per_chart - 1) / lines_per_chart;
    std::vector<chart> charts(count, {.title = fmt::format("Percentiles of a cycle: {}", s.name), .x = x, .y = y});
    for (std::size_t i = 0; i < lines.size(); ++i)
        charts[i * count / lines.size()].lines.push_back(std::move(lines[i]));
    for (std::size_t i = 0; count > 1 && i < count; ++i)
        charts[i].title += fmt::format(", {} of {}", i + 1, count);
    return charts;
}

std::vector<chart> throughput_charts(scenario const& s)
{
    std::vector<chart> charts;
    for (auto const* r : s.results) {
        if (!r->time || r->time->cycles_per_second.empty())
            continue;
        chart c{.title = fmt::format("Throughput over time: {}", s.name),
                .x = {.label = "seconds", .text = seconds, .low = 0},
                .y = {.label = "cycles per second", .text = compact}};
        c.x.high = double(r->time->cycles_per_second.size()) * r->time->slice_seconds;
        c.lines.push_back({label(*r), timeline_points(*r->time), {}});
        for (auto const& m : r->time->marks)
            c.marks.push_back({m.at_seconds, m.what});
        charts.push_back(std::move(c));
    }
    return charts;
}

std::vector<chart> cost_charts(scenario const& s)
{
    std::vector<chart> charts;
    if (s.name != "scale")
        return charts;
    add_cost_charts(charts, s, &result::nodes);
    add_cost_charts(charts, s, &result::clients);
    return charts;
}

}  // namespace redlock::bench
