#include "output/columns.hpp"
#include "output/table.hpp"
#include "output/text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace redlock::bench {

namespace {

using rows = std::vector<std::vector<std::string>>;

std::string machine_warning(run const& before, run const& after)
{
    std::string text;
    for (std::string const name : {"processor", "cores", "kernel", "server"}) {
        auto const was = machine_entry(before, name);
        auto const is = machine_entry(after, name);
        if (was != is)
            text += fmt::format("  {}: {} → {}\n", name, was, is);
    }
    return text.empty() ? text : "The machines differ, so that only ratios to the floor can be compared:\n" + text;
}

std::string title(result const& r) { return fmt::format("{}: {}", r.scenario, label(r)); }

std::string spread_note(double before, double after, double spread)
{
    bool const within = before != after && std::abs(after - before) < spread * std::abs(before);
    return within ? fmt::format("within the spread of {}", percent(spread)) : "";
}

void add(rows& all, std::string_view name, double before, double after, std::string (*shown)(double),
         std::string const& note = "")
{
    all.push_back({std::string(name), shown(before), "→", shown(after), change(before, after), note});
}

std::string microseconds(double us) { return duration(us); }

std::string compared(result const& before, result const& after)
{
    rows all;
    auto const c = change_of(before, after);
    add(all, c.what, c.before, c.after, figure, spread_note(c.before, c.after, c.spread));
    add(all, "client CPU us/cycle", before.client_cpu_us_per_cycle, after.client_cpu_us_per_cycle, figure);
    add(all, "allocations/cycle", before.allocations_per_cycle, after.allocations_per_cycle, figure);
    add(all, "commands/cycle", before.commands_per_cycle, after.commands_per_cycle, figure);
    add(all, "cycle p50", before.cycle_us.p50, after.cycle_us.p50, microseconds);
    add(all, "cycle p99", before.cycle_us.p99, after.cycle_us.p99, microseconds);
    if (before.violations + after.violations > 0)
        add(all, "VIOLATIONS", double(before.violations), double(after.violations), figure_or_whole);
    return columns(all, "lrlrrl");
}

std::string only_in(std::string_view which, run const& here, run const& there)
{
    std::string text;
    for (auto const& r : here.results) {
        if (!find_like(there, r))
            text += fmt::format("  {}\n", title(r));
    }
    return text.empty() ? text : fmt::format("\nOnly {}:\n{}", which, text);
}

}  // namespace

std::string to_comparison(run const& before, run const& after)
{
    auto text = machine_warning(before, after);
    bool any = false;
    for (auto const& is : after.results) {
        if (auto const* const was = find_like(before, is)) {
            text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", title(is), compared(*was, is));
            any = true;
        }
    }
    if (!any)
        text += "No result is in both runs.\n";
    return text + only_in("before", before, after) + only_in("after", after, before);
}

}  // namespace redlock::bench
