#include "output/csv.hpp"
#include "output/text.hpp"

#include <fmt/format.h>

#include <set>

namespace redlock::bench {

namespace {

std::string escaped(std::string_view text)
{
    if (text.find_first_of(",\"\r\n") == text.npos)
        return std::string(text);
    std::string out = "\"";
    for (char c : text)
        out.append(c == '"' ? 2 : 1, c);
    return out + '"';
}

using row = std::vector<std::pair<std::string, std::string>>;  // name of the column, cell

void add(row& cells, std::string_view name, std::optional<double> value)
{
    cells.emplace_back(name, value ? plain(*value) : std::string());
}

void add(row& cells, std::string_view name, std::uint64_t value) { cells.emplace_back(name, std::to_string(value)); }

void add(row& cells, std::string_view name, std::optional<percentiles> const& p)
{
    auto const of = [&](double percentiles::*member) { return p ? std::optional(*p.*member) : std::nullopt; };
    add(cells, fmt::format("{}_p50", name), of(&percentiles::p50));
    add(cells, fmt::format("{}_p90", name), of(&percentiles::p90));
    add(cells, fmt::format("{}_p99", name), of(&percentiles::p99));
    add(cells, fmt::format("{}_p999", name), of(&percentiles::p999));
    add(cells, fmt::format("{}_max", name), of(&percentiles::max));
    add(cells, fmt::format("{}_mean", name), of(&percentiles::mean));
}

row cells_of(result const& r, std::set<std::string> const& more)
{
    row cells = {{"scenario", r.scenario}, {"variant", r.variant}};
    add(cells, "nodes", std::uint64_t(r.nodes));
    add(cells, "clients", std::uint64_t(r.clients));
    add(cells, "cycles_per_second", std::optional(r.cycles_per_second));
    add(cells, "floor_cycles_per_second", r.floor_cycles_per_second);
    add(cells, "ratio_to_floor", r.ratio_to_floor);
    add(cells, "spread", std::optional(r.spread));
    add(cells, "client_cpu_us_per_cycle", std::optional(r.client_cpu_us_per_cycle));
    add(cells, "floor_cpu_us_per_cycle", r.floor_cpu_us_per_cycle);
    add(cells, "server_cpu_us_per_cycle", r.server_cpu_us_per_cycle);
    add(cells, "allocations_per_cycle", std::optional(r.allocations_per_cycle));
    add(cells, "bytes_per_cycle", std::optional(r.bytes_per_cycle));
    add(cells, "commands_per_cycle", std::optional(r.commands_per_cycle));
    add(cells, "writes_per_cycle", std::optional(r.writes_per_cycle));
    add(cells, "acquire_us", std::optional(r.acquire_us));
    add(cells, "cycle_us", std::optional(r.cycle_us));
    add(cells, "wait_us", std::optional(r.wait_us));
    add(cells, "floor_cycle_us", r.floor_cycle_us);
    add(cells, "failures", failure_count(r));
    add(cells, "violations", r.violations);
    add(cells, "peak_heap_bytes", r.peak_heap_bytes);
    add(cells, "rounds", std::uint64_t(r.rounds));
    add(cells, "disturbed", std::uint64_t(r.disturbed));
    for (auto const& name : more) {
        auto const found = r.more.find(name);
        add(cells, "more." + name, found == r.more.end() ? std::nullopt : std::optional(found->second));
    }
    return cells;
}

std::string line(row const& cells, std::string row::value_type::*part)
{
    std::string text;
    for (auto const& cell : cells)
        text.append(&cell == &cells.front() ? "" : ",").append(escaped(cell.*part));
    return text + "\n";
}

}  // namespace

std::string to_csv(run const& r)
{
    std::set<std::string> more;
    for (auto const& one : r.results) {
        for (auto const& figure : one.more)
            more.insert(figure.first);
    }
    auto text = line(cells_of({}, more), &row::value_type::first);
    for (auto const& one : r.results)
        text += line(cells_of(one, more), &row::value_type::second);
    return text;
}

}  // namespace redlock::bench
