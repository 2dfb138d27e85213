// Reading; json_write.cpp writes.

#include "output/json.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace redlock::bench {

namespace {

namespace json = boost::json;

constexpr std::uint64_t schema = 1;

/// A value and where it was found, which is what a message has to say.
class field {
public:
    field(json::value const& value, std::string_view file, std::string path)
        : value_(&value), file_(file), path_(std::move(path))
    {
    }

    [[noreturn]] void fail(std::string_view expected) const
    {
        throw std::runtime_error(
            fmt::format("{}: {}{}expected {}", file_, path_, path_.empty() ? "" : ": ", expected));
    }

    field operator[](std::string_view name) const
    {
        auto const* const found = object().if_contains(name);
        if (!found)
            child(*value_, name).fail("this field, but it is missing");
        return child(*found, name);
    }

    /// Null means absent, as does no field at all.
    std::optional<field> find(std::string_view name) const
    {
        auto const* const found = object().if_contains(name);
        return found && !found->is_null() ? std::optional(child(*found, name)) : std::nullopt;
    }

    std::vector<std::pair<std::string, field>> members() const
    {
        std::vector<std::pair<std::string, field>> all;
        for (auto const& m : object())
            all.emplace_back(m.key(), child(m.value(), m.key()));
        return all;
    }

    std::vector<field> items() const
    {
        if (!value_->is_array())
            fail("an array");
        std::vector<field> all;
        for (auto const& item : value_->get_array())
            all.emplace_back(item, file_, fmt::format("{}[{}]", path_, all.size()));
        return all;
    }

    double number() const
    {
        if (value_->is_null())
            return std::numeric_limits<double>::quiet_NaN();
        if (!value_->is_number())
            fail("a number");
        return value_->to_number<double>();
    }

    std::uint64_t whole() const
    {
        boost::system::error_code ec;
        auto const n = value_->to_number<std::uint64_t>(ec);
        if (ec)
            fail("a whole number from 0 on");
        return n;
    }

    std::string text() const
    {
        if (!value_->is_string())
            fail("a string");
        return std::string(value_->get_string());
    }

private:
    json::object const& object() const
    {
        if (!value_->is_object())
            fail("an object");
        return value_->get_object();
    }

    field child(json::value const& value, std::string_view name) const
    {
        return {value, file_, path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name)};
    }

    json::value const* value_;
    std::string_view file_;
    std::string path_;
};

std::optional<double> optional_number(field const& from, std::string_view name)
{
    auto const found = from.find(name);
    return found ? std::optional(found->number()) : std::nullopt;
}

percentiles read_percentiles(field const& from)
{
    return {.p50 = from["p50"].number(),
            .p90 = from["p90"].number(),
            .p99 = from["p99"].number(),
            .p999 = from["p999"].number(),
            .max = from["max"].number(),
            .mean = from["mean"].number()};
}

std::vector<std::pair<double, double>> read_curve(field const& from)
{
    std::vector<std::pair<double, double>> curve;
    for (auto const& item : from.items()) {
        auto const point = item.items();
        if (point.size() != 2)
            item.fail("a pair: share and microseconds");
        curve.emplace_back(point[0].number(), point[1].number());
    }
    return curve;
}

timeline read_timeline(field const& from)
{
    timeline time;
    time.slice_seconds = from["slice_seconds"].number();
    for (auto const& item : from["cycles_per_second"].items())
        time.cycles_per_second.push_back(item.number());
    for (auto const& item : from["marks"].items())
        time.marks.push_back({item["at_seconds"].number(), item["what"].text()});
    return time;
}

void read_costs(field const& from, result& r)
{
    r.cycles_per_second = from["cycles_per_second"].number();
    r.floor_cycles_per_second = optional_number(from, "floor_cycles_per_second");
    r.ratio_to_floor = optional_number(from, "ratio_to_floor");
    r.client_cpu_us_per_cycle = from["client_cpu_us_per_cycle"].number();
    r.floor_cpu_us_per_cycle = optional_number(from, "floor_cpu_us_per_cycle");
    r.server_cpu_us_per_cycle = optional_number(from, "server_cpu_us_per_cycle");
    r.allocations_per_cycle = from["allocations_per_cycle"].number();
    r.bytes_per_cycle = from["bytes_per_cycle"].number();
    r.commands_per_cycle = from["commands_per_cycle"].number();
    r.writes_per_cycle = from["writes_per_cycle"].number();
}

result read_result(field const& from)
{
    result r;
    r.scenario = from["scenario"].text();
    r.variant = from["variant"].text();
    r.nodes = from["nodes"].whole();
    r.clients = from["clients"].whole();
    read_costs(from, r);
    r.acquire_us = read_percentiles(from["acquire_us"]);
    r.cycle_us = read_percentiles(from["cycle_us"]);
    r.wait_us = read_percentiles(from["wait_us"]);
    if (auto const floor = from.find("floor_cycle_us"))
        r.floor_cycle_us = read_percentiles(*floor);
    for (auto const& [what, count] : from["failures"].members())
        r.failures[what] = count.whole();
    r.violations = from["violations"].whole();
    r.peak_heap_bytes = from["peak_heap_bytes"].whole();
    r.rounds = from["rounds"].whole();
    r.disturbed = from["disturbed"].whole();
    r.spread = from["spread"].number();
    r.curve = read_curve(from["curve"]);
    r.floor_curve = read_curve(from["floor_curve"]);
    if (auto const time = from.find("time"))
        r.time = read_timeline(*time);
    for (auto const& [name, value] : from["more"].members())
        r.more[name] = value.number();
    return r;
}

json::value parse(std::string_view text, std::string_view file)
{
    json::parse_options options;
    options.allow_invalid_utf8 = true;  // the message of a failure may quote what a server said
    json::parser parser({}, options);
    boost::system::error_code ec;
    auto const used = parser.write_some(text.data(), text.size(), ec);
    if (!ec && text.find_first_not_of(" \t\r\n", used) != text.npos)
        ec = json::error::extra_data;
    if (ec) {
        auto const line = 1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(used), '\n');
        throw std::runtime_error(fmt::format("{}: line {}: expected JSON: {}", file, line, ec.message()));
    }
    return parser.release();
}

}  // namespace

run from_json(std::string_view text, std::string_view file_name)
{
    auto const value = parse(text, file_name);
    field const root(value, file_name, "");
    if (auto const found = root["schema"].whole(); found != schema)
        root["schema"].fail(fmt::format("{}, the only one this program reads, found {}", schema, found));
    run r;
    for (auto const& [name, what] : root["machine"].members())
        r.machine[name] = what.text();
    for (auto const& item : root["results"].items())
        r.results.push_back(read_result(item));
    return r;
}

}  // namespace redlock::bench
