#include "output/charts.hpp"
#include "output/html.hpp"
#include "output/html_style.hpp"
#include "output/text.hpp"

#include <fmt/format.h>

#include <set>

namespace redlock::bench {

namespace {

std::string cell(std::string_view text, std::string_view kind = "")
{
    return kind.empty() ? fmt::format("<td>{}</td>", escaped(text))
                        : fmt::format("<td class=\"{}\">{}</td>", kind, escaped(text));
}

std::string figure_cell(std::optional<double> value, std::string_view kind = "")
{
    return cell(value ? figure(*value) : "–", kind);
}

std::string row_of(result const& r, std::string const& cells)
{
    return fmt::format("<tr><th scope=\"row\">{}</th>{}</tr>\n", escaped(label(r)), cells);
}

/// Wide tables are scrolled on narrow screens, also by keyboard.
std::string table(std::string_view name, std::string const& head, std::string const& body)
{
    return fmt::format("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n<table>\n"
                       "<thead>\n{}</thead>\n{}</table>\n</div>\n",
                       escaped(name), head, body);
}

std::string cost_cells(result const& r)
{
    return figure_cell(r.cycles_per_second) + figure_cell(r.floor_cycles_per_second, "thin") +
           figure_cell(r.ratio_to_floor) + cell(plus_minus(r.spread), "thin") +
           figure_cell(r.client_cpu_us_per_cycle, "first") + figure_cell(r.floor_cpu_us_per_cycle, "thin") +
           figure_cell(r.server_cpu_us_per_cycle) + figure_cell(r.allocations_per_cycle, "first") +
           figure_cell(r.bytes_per_cycle) + figure_cell(r.commands_per_cycle) + figure_cell(r.writes_per_cycle) +
           figure_cell(double(r.peak_heap_bytes) / 1024, "first");
}

std::string summary(std::vector<scenario> const& all)
{
    std::string const head =
        "<tr><td></td><th class=\"over\" colspan=\"4\" scope=\"colgroup\">Cycles per second</th>"
        "<th class=\"over first\" colspan=\"3\" scope=\"colgroup\">CPU per cycle, µs</th>"
        "<th class=\"over first\" colspan=\"4\" scope=\"colgroup\">Per cycle</th>"
        "<th class=\"over first\" scope=\"colgroup\">Heap, KiB</th></tr>\n"
        "<tr><td></td><th scope=\"col\">redlock</th><th scope=\"col\">floor</th><th scope=\"col\">ratio</th>"
        "<th scope=\"col\">±</th><th class=\"first\" scope=\"col\">client</th><th scope=\"col\">floor</th>"
        "<th scope=\"col\">servers</th><th class=\"first\" scope=\"col\">allocations</th><th scope=\"col\">bytes</th>"
        "<th scope=\"col\">commands</th><th scope=\"col\">writes</th>"
        "<th class=\"first\" scope=\"col\">peak</th></tr>\n";
    std::string body;
    for (auto const& s : all) {
        body += fmt::format("<tbody>\n<tr><th class=\"group\" colspan=\"13\" scope=\"rowgroup\">{}</th></tr>\n",
                            escaped(s.name));
        for (auto const* r : s.results)
            body += row_of(*r, cost_cells(*r));
        body += "</tbody>\n";
    }
    return table("Summary", head, body);
}

std::string latency_cells(percentiles const& p)
{
    std::string cells;
    for (double us : {p.p50, p.p90, p.p99, p.p999, p.max})
        cells += cell(measured(p) ? duration(us, "µs") : "–", cells.empty() ? "first" : "");
    return cells;
}

std::string latencies(scenario const& s)
{
    std::string const columns = "<th class=\"first\" scope=\"col\">p50</th><th scope=\"col\">p90</th>"
                                "<th scope=\"col\">p99</th><th scope=\"col\">p99.9</th><th scope=\"col\">max</th>";
    auto const head = fmt::format(
        "<tr><td></td><th class=\"over first\" colspan=\"5\" scope=\"colgroup\">Acquire</th>"
        "<th class=\"over first\" colspan=\"5\" scope=\"colgroup\">Cycle</th>"
        "<th class=\"over first\" colspan=\"2\" scope=\"colgroup\">Cycle, × floor</th></tr>\n"
        "<tr><td></td>{0}{0}<th class=\"first\" scope=\"col\">p50</th><th scope=\"col\">p99</th></tr>\n",
        columns);
    std::string body;
    for (auto const* r : s.results) {
        auto const& floor = r->floor_cycle_us;
        auto const p50 = times_floor(r->cycle_us.p50, floor ? std::optional(floor->p50) : std::nullopt);
        auto const p99 = times_floor(r->cycle_us.p99, floor ? std::optional(floor->p99) : std::nullopt);
        body += row_of(*r, latency_cells(r->acquire_us) + latency_cells(r->cycle_us) + figure_cell(p50, "first") +
                               figure_cell(p99));
    }
    return table(fmt::format("Latency: {}", s.name), head, fmt::format("<tbody>\n{}</tbody>\n", body));
}

std::string further_figures(scenario const& s)
{
    std::set<std::string> names;
    for (auto const* r : s.results) {
        for (auto const& figure : r->more)
            names.insert(figure.first);
    }
    if (names.empty())
        return "";
    std::string head = "<tr><td></td>", body;
    for (auto const& name : names)
        head += fmt::format("<th scope=\"col\">{}</th>", escaped(spaced(name)));
    for (auto const* r : s.results) {
        std::string cells;
        for (auto const& name : names) {
            auto const found = r->more.find(name);
            cells += cell(found == r->more.end() ? "–" : figure_or_whole(found->second));
        }
        body += row_of(*r, cells);
    }
    return table(fmt::format("Further figures: {}", s.name), head + "</tr>\n",
                 fmt::format("<tbody>\n{}</tbody>\n", body));
}

std::string violations_text(std::uint64_t violations)
{
    return fmt::format("<span{}>{} of mutual exclusion</span>", violations > 0 ? " class=\"alarm\"" : "",
                       counted(violations, "violation"));
}

std::string remarks(scenario const& s)
{
    std::string items;
    for (auto const* r : s.results) {
        if (r->violations > 0)
            items += fmt::format("<li>{}: {}</li>\n", escaped(label(*r)), violations_text(r->violations));
        if (auto const failures = failures_text(*r); !failures.empty())
            items += fmt::format("<li>{}: failures: {}</li>\n", escaped(label(*r)), escaped(failures));
        if (auto const disturbed = disturbed_text(*r); !disturbed.empty())
            items += fmt::format("<li>{}: {}</li>\n", escaped(label(*r)), escaped(disturbed));
    }
    return items.empty() ? items : fmt::format("<ul>\n{}</ul>\n", items);
}

std::string figures(std::vector<chart> const& charts)
{
    std::string text;
    for (auto const& c : charts)
        text += fmt::format("<figure>\n<figcaption>{}</figcaption>\n{}</figure>\n", escaped(c.title), to_svg(c));
    return text.empty() ? text : fmt::format("<div class=\"charts\">\n{}</div>\n", text);
}

std::string section(scenario const& s, std::size_t number)
{
    std::vector<chart> charts;
    for (auto const kind : {throughput_charts, cost_charts, percentile_charts}) {
        for (auto& c : kind(s))
            charts.push_back(std::move(c));
    }
    return fmt::format("<section>\n<h2 id=\"s{}\">{}</h2>\n{}{}{}{}</section>\n", number, escaped(s.name), latencies(s),
                       further_figures(s), remarks(s), figures(charts));
}

std::string machine(run const& r)
{
    std::string entries;
    for (auto const& [name, what] : r.machine) {
        auto const* const tag = name == "command" ? "code" : "span";
        entries += fmt::format("<dt>{}</dt><dd><{}>{}</{}></dd>\n", escaped(spaced(name)), tag, escaped(what), tag);
    }
    return entries.empty() ? entries
                           : fmt::format("<section>\n<h2 id=\"machine\">Machine and command</h2>\n<dl>\n{}</dl>\n"
                                         "</section>\n",
                                         entries);
}

std::string lead(run const& r, std::vector<scenario> const& all)
{
    std::uint64_t violations = 0;
    std::size_t rounds = 0, disturbed = 0;
    for (auto const& one : r.results) {
        violations += one.violations;
        rounds += one.rounds;
        disturbed += one.disturbed;
    }
    return fmt::format("<p class=\"lead\">{} in {}, {}; {} of {} disturbed.</p>\n",
                       counted(r.results.size(), "result"), counted(all.size(), "scenario"),
                       violations_text(violations), disturbed, counted(rounds, "round"));
}

std::string contents(std::vector<scenario> const& all)
{
    std::string links;
    for (std::size_t i = 0; i < all.size(); ++i)
        links += fmt::format("<a href=\"#s{}\">{}</a>\n", i, escaped(all[i].name));
    return fmt::format("<nav aria-label=\"Scenarios\">\n{}</nav>\n", links);
}

constexpr char const* reading =
    "<p class=\"soft\">A cycle is a lock that was acquired and released; in scenario “renew”, a renewal. The floor is "
    "a bare client that sends the same commands and does nothing else, measured in the same rounds: a ratio of 1 would "
    "mean that the library costs nothing. ± is half the range of the rounds.</p>\n";

}  // namespace

std::string to_html(run const& r)
{
    auto const all = scenarios_of(r);
    std::string body = lead(r, all);
    if (!all.empty())
        body += contents(all);
    body += machine(r);
    if (!all.empty())
        body += fmt::format("<section>\n<h2>Summary</h2>\n{}{}</section>\n", reading, summary(all));
    for (std::size_t i = 0; i < all.size(); ++i)
        body += section(all[i], i);
    return fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<title>redlock: benchmark</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n"
                       "<h1>redlock: what a lock costs</h1>\n{}</main>\n</body>\n</html>\n",
                       html_style, body);
}

}  // namespace redlock::bench
