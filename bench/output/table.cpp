#include "output/columns.hpp"
#include "output/table.hpp"
#include "output/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace redlock::bench {

namespace {

using rows = std::vector<std::vector<std::string>>;

std::string figure_or_dash(std::optional<double> value) { return value ? figure(*value) : "-"; }

std::string cost_table(scenario const& s)
{
    rows all = {{"nodes", "clients", "", "cycles/s", "floor/s", "ratio", "", "CPU us", "allocs", "commands"}};
    for (auto const* r : s.results)
        all.push_back({std::to_string(r->nodes), std::to_string(r->clients), r->variant, figure(r->cycles_per_second),
                       figure_or_dash(r->floor_cycles_per_second), figure_or_dash(r->ratio_to_floor),
                       plus_minus(r->spread), figure(r->client_cpu_us_per_cycle), figure(r->allocations_per_cycle),
                       figure(r->commands_per_cycle)});
    return columns(all, "rrlrrrrrrr");
}

std::vector<std::string> latency_row(result const& r, percentiles const& p)
{
    std::vector<std::string> row = {std::to_string(r.nodes), std::to_string(r.clients), r.variant};
    for (double us : {p.p50, p.p90, p.p99, p.p999, p.max})
        row.push_back(measured(p) ? duration(us) : "-");
    row.resize(row.size() + 2);  // two cells for the ratios of a cycle to the floor
    return row;
}

void add_latency(rows& all, scenario const& s, std::string_view what, percentiles result::*member)
{
    all.emplace_back();
    all.push_back({std::string(what)});
    all.push_back({"nodes", "clients", "", "p50", "p90", "p99", "p99.9", "max", "", ""});
    for (auto const* r : s.results) {
        bool const only_cycles = measured(r->cycle_us) && !measured(r->*member);  // other libraries of `versus`
        if (!only_cycles)
            all.push_back(latency_row(*r, r->*member));
    }
}

void add_ratios_to_floor(rows& all, scenario const& s)
{
    auto const heading = all.size() - s.results.size() - 1;
    for (std::size_t i = 0; i < s.results.size(); ++i) {
        auto const& r = *s.results[i];
        if (!r.floor_cycle_us)
            continue;
        auto& row = all[heading + 1 + i];
        row[8] = figure_or_dash(times_floor(r.cycle_us.p50, r.floor_cycle_us->p50));
        row[9] = figure_or_dash(times_floor(r.cycle_us.p99, r.floor_cycle_us->p99));
        all[heading - 1][0] = "cycle (p50 x, p99 x: times the floor's)";
        all[heading][8] = "p50 x";
        all[heading][9] = "p99 x";
    }
}

std::string latency_table(scenario const& s)
{
    bool const failed = std::any_of(s.results.begin(), s.results.end(), [](auto* r) { return failure_count(*r) > 0; });
    rows all;
    add_latency(all, s, "acquire", &result::acquire_us);
    if (failed)
        add_latency(all, s, "wait, failed acquisitions included", &result::wait_us);
    add_latency(all, s, "cycle", &result::cycle_us);
    add_ratios_to_floor(all, s);
    return columns(all, "rrlrrrrrrr");
}

/// Violations, failures and further figures of a result, below its label; empty if there are none.
std::string remarks(result const& r)
{
    std::string text;
    if (r.violations > 0)
        text += fmt::format("    VIOLATIONS of mutual exclusion: {}\n", r.violations);
    if (auto const failures = failures_text(r); !failures.empty())
        text += fmt::format("    failures: {}\n", failures);
    for (auto const& [name, value] : r.more)
        text += fmt::format("    {}: {}\n", spaced(name), figure_or_whole(value));
    if (auto const disturbed = disturbed_text(r); !disturbed.empty())
        text += fmt::format("    {}\n", disturbed);
    return text.empty() ? text : fmt::format("\n  {}\n{}", label(r), text);
}

std::string section(scenario const& s)
{
    bool const timed = std::any_of(s.results.begin(), s.results.end(), [](auto* r) { return measured(r->acquire_us); });
    auto text = fmt::format("\n{}\n{}\n{}{}", s.name, std::string(width(s.name), '-'), cost_table(s),
                            timed ? latency_table(s) : std::string());
    std::uint64_t violations = 0;
    for (auto const* r : s.results) {
        text += remarks(*r);
        violations += r->violations;
    }
    return text + fmt::format("\n  {}\n", counted(violations, "violation"));
}

std::string machine_table(run const& r)
{
    rows all;
    for (auto const& [name, what] : r.machine)
        all.push_back({name, what});
    return columns(all, "ll");
}

}  // namespace

std::string to_table(run const& r)
{
    auto text = machine_table(r);
    if (r.results.empty())
        return text + "No results.\n";
    text += "\n  ratio: to the floor's cycles/s, ± half the range of the rounds\n"
            "  CPU us (the client's), allocs, commands: per cycle\n";
    if (std::any_of(r.results.begin(), r.results.end(), floor_is_redlock))
        text += "  versus: the floor of the others is redlock, in the same rounds\n";
    for (auto const& s : scenarios_of(r))
        text += section(s);
    return text;
}

}  // namespace redlock::bench
