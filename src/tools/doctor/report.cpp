#include "tools/doctor/report.hpp"

#include "tools/output.hpp"

#include <boost/json/array.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace redlock::tools::doctor {

namespace {

constexpr std::array all_levels{level::critical, level::warning, level::unknown, level::ok};

auto count_of(findings const& all, level l)
{
    return std::ranges::count(all, l, &finding::level);
}

std::string_view color_of(level l)
{
    switch (l) {
    case level::ok:
        return "\033[32m";
    case level::warning:
        return "\033[33m";
    case level::critical:
        return "\033[31m";
    case level::unknown:
        return "\033[35m";
    }
    return {};
}

// The level at the begin of each line; the table has counted its columns already.
std::string colored(std::string_view text)
{
    std::string all;
    while (!text.empty()) {
        auto const line = text.substr(0, text.find('\n') + 1);
        text.remove_prefix(line.size());
        auto const word = line.substr(0, line.find(' '));
        auto const* const known = std::ranges::find(all_levels, word, to_string);
        all += known == all_levels.end() ? std::string(line) : fmt::format("{}{}\033[0m{}", color_of(*known), word, line.substr(word.size()));
    }
    return all;
}

std::string summary(findings const& all, std::size_t nodes)
{
    auto text = fmt::format("{}: {} node{}, {} checks", to_string(worst(all)), nodes, nodes == 1 ? "" : "s", all.size());
    for (auto const l : all_levels) {
        if (auto const n = count_of(all, l); n > 0)
            text += fmt::format(", {} {}", n, to_string(l));
    }
    return text;
}

boost::json::object fields_of(finding const& f)
{
    boost::json::object o{{"level", to_string(f.level)}, {"node", f.node}, {"what", f.what}, {"why", f.why}, {"mend", f.mend}};
    if (!f.values.empty())
        o["values"] = f.values;
    return o;
}

boost::json::object summary_fields(findings const& all, std::size_t nodes)
{
    boost::json::object counts;
    for (auto const l : all_levels)
        counts[to_string(l)] = count_of(all, l);
    return {{"status", to_string(worst(all))}, {"summary", summary(all, nodes)}, {"nodes", nodes}, {"counts", std::move(counts)}};
}

void print_table(findings const& shown, std::string const& end, bool in_color)
{
    table t({"LEVEL", "NODE", "CHECK", "FINDING"});
    for (auto const& f : shown) {
        t.add({std::string(to_string(f.level)), f.node.empty() ? "all" : printable(f.node), f.what, printable(f.why)});
        if (!f.mend.empty())
            t.add({"", "", "", "$ " + printable(f.mend)});
    }
    auto const text = shown.empty() ? std::string() : t.text(in_color);
    print((in_color ? colored(text) : text) + end + '\n');
}

}  // namespace

void print_report(findings const& all, std::size_t nodes, settings const& s)
{
    auto shown = all;
    if (s.quiet)
        std::erase_if(shown, [](auto const& f) { return f.level == level::ok; });
    if (s.output == format::table)
        return print_table(shown, summary(all, nodes), s.has_color(STDOUT_FILENO));
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

}  // namespace redlock::tools::doctor
