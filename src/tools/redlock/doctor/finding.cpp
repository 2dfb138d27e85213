#include "tools/redlock/doctor/finding.hpp"

#include "tools/redlock/args/output.hpp"
#include "tools/redlock/args/settings.hpp"

#include <boost/json/array.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace redlock::cli::doctor {

namespace {

struct level_text {
    doctor::level level;
    std::string_view name, color;
};

// Ordered from worst to best.
constexpr std::array levels{
    level_text{level::critical, "CRIT", "\033[31m"},
    level_text{level::warning, "WARN", "\033[33m"},
    level_text{level::unknown, "UNKNOWN", "\033[35m"},
    level_text{level::ok, "OK", "\033[32m"},
};

auto count_of(findings const& all, level l) { return std::ranges::count(all, l, &finding::level); }

// Colours the level at the beginning of each line of a finished table, because colour codes would widen its columns.
std::string colored(std::string_view text)
{
    std::string all;
    while (!text.empty()) {
        auto const line = text.substr(0, text.find('\n') + 1);
        text.remove_prefix(line.size());
        auto const word = line.substr(0, line.find(' '));
        auto const* const known = std::ranges::find(levels, word, &level_text::name);
        if (known == levels.end())
            all += line;
        else
            all += fmt::format("{}{}\033[0m{}", known->color, word, line.substr(word.size()));
    }
    return all;
}

std::string summary(findings const& all, std::size_t nodes)
{
    auto text =
        fmt::format("{}: {} node{}, {} checks", to_string(worst(all)), nodes, nodes == 1 ? "" : "s", all.size());
    for (auto const& l : levels) {
        if (auto const n = count_of(all, l.level); n > 0)
            text += fmt::format(", {} {}", n, l.name);
    }
    if (auto const n = std::ranges::count(all, true, &finding::is_remark); n > 0)
        text += fmt::format(" ({} remark{})", n, n == 1 ? "" : "s");
    return text;
}

boost::json::object fields_of(finding const& f)
{
    boost::json::object o{
        {"level", to_string(f.level)}, {"node", f.node}, {"what", f.what}, {"why", f.why}, {"fix", f.fix}};
    o["mend"] = f.fix;  // the name of "fix" in 0.1, until the next release
    if (f.is_remark)
        o["remark"] = true;
    if (!f.values.empty())
        o["values"] = f.values;
    return o;
}

boost::json::object summary_fields(findings const& all, std::size_t nodes)
{
    boost::json::object counts;
    for (auto const& l : levels)
        counts[l.name] = count_of(all, l.level);
    return {{"status", to_string(worst(all))},
            {"summary", summary(all, nodes)},
            {"nodes", nodes},
            {"counts", std::move(counts)}};
}

// Findings that differ only in the node and in the line to run.
struct shared_finding {
    finding const* first;
    std::vector<std::string_view> nodes{}, fixes{};
};

void add_once(std::vector<std::string_view>& texts, std::string_view text)
{
    if (!text.empty() && std::ranges::find(texts, text) == texts.end())
        texts.push_back(text);
}

std::vector<shared_finding> shared(findings const& all)
{
    std::vector<shared_finding> lines;
    for (auto const& f : all) {
        auto const is_same = [&](auto const& l) {
            return l.first->level == f.level && l.first->what == f.what && l.first->why == f.why;
        };
        auto line = std::ranges::find_if(lines, is_same);
        if (line == lines.end())
            line = lines.insert(line, shared_finding{.first = &f});
        add_once(line->nodes, f.node);
        add_once(line->fixes, f.fix);
    }
    auto const rank = [](auto const& l) { return std::ranges::find(levels, l.first->level, &level_text::level); };
    std::ranges::stable_sort(lines, {}, rank);
    return lines;
}

std::string nodes_of(shared_finding const& f, std::size_t nodes)
{
    if (f.nodes.empty() || (nodes > 1 && f.nodes.size() == nodes))
        return "all";
    return printable(fmt::format("{}", fmt::join(f.nodes, ", ")));
}

void print_table(findings const& all, std::size_t nodes, settings const& s)
{
    table t({"LEVEL", "NODE", "CHECK", "FINDING"});
    bool is_empty = true;
    std::size_t fine = 0;
    for (auto const& f : all)
        fine += f.level == level::ok && !f.is_remark;
    for (auto const& f : shared(all)) {
        if (f.first->level == level::ok && (s.quiet || !(s.verbose || f.first->is_remark)))
            continue;
        is_empty = false;
        t.add({std::string(to_string(f.first->level)), nodes_of(f, nodes), f.first->what, printable(f.first->why)});
        for (auto const fix : f.fixes)
            t.add({"", "", "", "$ " + printable(fix)});
    }
    bool const in_color = s.has_color(STDOUT_FILENO);
    auto text = is_empty ? std::string() : t.text(in_color);
    if (fine > 0 && !s.quiet && !s.verbose)
        text += fmt::format("{} check{} fine (-v lists them)\n", fine, fine == 1 ? " is" : "s are");
    print((in_color ? colored(text) : text) + summary(all, nodes) + '\n');
}

}  // namespace

std::string_view to_string(level l) noexcept { return std::ranges::find(levels, l, &level_text::level)->name; }

level worst(findings const& all) noexcept
{
    auto const* const found = std::ranges::find_if(levels, [&](auto const& l) { return count_of(all, l.level) > 0; });
    return found == levels.end() ? level::ok : found->level;
}

void print_report(findings const& all, std::size_t nodes, settings const& s)
{
    if (s.output == format::table)
        return print_table(all, nodes, s);
    auto shown = all;
    if (s.quiet)
        std::erase_if(shown, [](auto const& f) { return f.level == level::ok; });
    auto document = summary_fields(all, nodes);
    if (s.output == format::json) {
        boost::json::array checks;
        for (auto const& f : shown)
            checks.push_back(fields_of(f));
        document["checks"] = std::move(checks);
    } else {
        for (auto const& f : shown)
            print_json(fields_of(f));
    }
    print_json(document);
}

}  // namespace redlock::cli::doctor
