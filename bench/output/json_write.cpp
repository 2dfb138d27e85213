// Writing; json.cpp reads.

#include "output/json.hpp"
#include "output/text.hpp"

#include <boost/json.hpp>

namespace redlock::bench {

namespace {

namespace json = boost::json;

json::value of(std::optional<double> value)
{
    return value ? json::value(*value) : json::value(nullptr);
}

json::value of(percentiles const& p)
{
    return {{"p50", p.p50}, {"p90", p.p90}, {"p99", p.p99}, {"p999", p.p999}, {"max", p.max}, {"mean", p.mean}};
}

json::value of(std::vector<std::pair<double, double>> const& curve)
{
    json::array points;
    for (auto const& [share, us] : curve)
        points.push_back(json::array{share, us});
    return points;
}

json::value of(timeline const& time)
{
    json::array marks;
    for (auto const& m : time.marks)
        marks.push_back(json::object{{"at_seconds", m.at_seconds}, {"what", m.what}});
    json::array const slices(time.cycles_per_second.begin(), time.cycles_per_second.end());
    return {{"slice_seconds", time.slice_seconds}, {"cycles_per_second", slices}, {"marks", marks}};
}

template <class Map>
json::object of_map(Map const& map)
{
    json::object all;
    for (auto const& [name, value] : map)
        all.emplace(name, value);
    return all;
}

json::value of(result const& r)
{
    return json::object{
        {"scenario", r.scenario},
        {"variant", r.variant},
        {"nodes", r.nodes},
        {"clients", r.clients},
        {"cycles_per_second", r.cycles_per_second},
        {"floor_cycles_per_second", of(r.floor_cycles_per_second)},
        {"ratio_to_floor", of(r.ratio_to_floor)},
        {"client_cpu_us_per_cycle", r.client_cpu_us_per_cycle},
        {"floor_cpu_us_per_cycle", of(r.floor_cpu_us_per_cycle)},
        {"server_cpu_us_per_cycle", of(r.server_cpu_us_per_cycle)},
        {"allocations_per_cycle", r.allocations_per_cycle},
        {"bytes_per_cycle", r.bytes_per_cycle},
        {"commands_per_cycle", r.commands_per_cycle},
        {"writes_per_cycle", r.writes_per_cycle},
        {"acquire_us", of(r.acquire_us)},
        {"cycle_us", of(r.cycle_us)},
        {"wait_us", of(r.wait_us)},
        {"floor_cycle_us", r.floor_cycle_us ? of(*r.floor_cycle_us) : json::value(nullptr)},
        {"failures", of_map(r.failures)},
        {"violations", r.violations},
        {"peak_heap_bytes", r.peak_heap_bytes},
        {"rounds", r.rounds},
        {"disturbed", r.disturbed},
        {"spread", r.spread},
        {"curve", of(r.curve)},
        {"floor_curve", of(r.floor_curve)},
        {"time", r.time ? of(*r.time) : json::value(nullptr)},
        {"more", of_map(r.more)},
    };
}

/// Shares near 1 differ in their last digits only, so they keep more of them than other figures.
std::string number(double value)
{
    auto const text = plain(value, value > 0.99 && value < 1 ? 9 : 5);
    return text.empty() ? "null" : text;
}

/// Opens up the outer @p levels, one member to a line; what lies deeper stays on the line of its name.
void print(std::string& out, json::value const& value, std::size_t levels, std::size_t indent = 0)
{
    bool first = true;
    auto const next = [&](std::size_t depth) {
        out += first ? "" : levels > 0 ? "," : ", ";
        first = false;
        if (levels > 0)
            out.append("\n").append(depth * 2, ' ');
    };
    auto const inner = levels > 0 ? levels - 1 : 0;
    if (auto const* const object = value.if_object(); object) {
        out += '{';
        for (auto const& member : *object) {
            next(indent + 1);
            out.append(json::serialize(json::string(member.key()))).append(": ");
            print(out, member.value(), inner, indent + 1);
        }
        if (levels > 0 && !first)
            out.append("\n").append(indent * 2, ' ');
        out += '}';
    } else if (auto const* const array = value.if_array(); array) {
        out += '[';
        for (auto const& item : *array) {
            next(indent + 1);
            print(out, item, inner, indent + 1);
        }
        if (levels > 0 && !first)
            out.append("\n").append(indent * 2, ' ');
        out += ']';
    } else {
        out += value.is_double() ? number(value.get_double()) : json::serialize(value);
    }
}

}  // namespace

std::string to_json(run const& r)
{
    json::array results;
    for (auto const& one : r.results)
        results.push_back(of(one));
    std::string text;
    print(text, json::object{{"schema", 1}, {"machine", of_map(r.machine)}, {"results", results}}, 3);
    return text + "\n";
}

}  // namespace redlock::bench
