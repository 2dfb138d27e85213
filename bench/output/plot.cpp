#include "output/plot.hpp"
#include "output/text.hpp"
#include "bed/local_server.hpp"
#include "bed/process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::bench {

namespace {

// Sizes in pixels. Each result has a row, with the library above the floor. Without a floor, the row is narrow.
constexpr double margin = 16, title_line = 17, panel_title = 62, heading = 34, row_height = 46, narrow_row = 27,
                 from_middle = 10, axis = 34;
constexpr double panel = 330, text_column = 190, gap = 20, character = 6.6;
constexpr std::size_t name_columns = 44;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// The first line has the options of the terminal.
constexpr char style[] = R"(noenhanced background rgb 'white' font 'sans-serif,12'
set encoding utf8
set border 1 lc rgb '#888888'
set tics nomirror textcolor rgb 'black'
unset ytics
set grid xtics lt 1 lc rgb '#dddddd'
set key at graph 0, graph 1 left bottom horizontal maxrows 1 Left reverse samplen 1.5
set style fill solid 1 noborder
half_bar = 8
)";

// Columns of $library and $floor: y, rate, lowest rate, highest rate, p50, p99, maximum, text, and whether it is
// another library.
constexpr char rates[] = R"(set format x '%.0s %c'
plot $library using ($9 == 1 ? NaN : $2):1:(from):2:($1 - half_bar):($1 + half_bar) with boxxyerror lc rgb '#0072b2' \
        title 'redlock', \
    $library using ($9 == 1 ? $2 : NaN):1:(from):2:($1 - half_bar):($1 + half_bar) with boxxyerror lc rgb '#009e73' \
        title others, \
    $floor using 2:1:(from):2:($1 - half_bar):($1 + half_bar) with boxxyerror lc rgb '#bbbbbb' title 'floor', \
    $library using 2:1:3:4 with xerrorbars pt 0 lc rgb 'black' title 'rounds', \
    $library using (to):1:8 with labels left offset 1, 0 notitle
unset label
)";

// An invisible line for empty data, because gnuplot 5.4 crashes without any. Its y is outside the picture.
constexpr char nothing[] = "-1 NaN NaN NaN NaN NaN NaN \"\" 0\n";

constexpr char latencies[] = R"(set format x '%.0s %cs'
set logscale x
plot $library using 5:1:($7 - $5):(0) with vectors nohead lc rgb '#888888' notitle, \
    $library using 5:1 with points pt 7 ps 0.8 lc rgb '#0072b2' title 'p50', \
    $library using 6:1 with points pt 9 ps 0.9 lc rgb '#e69f00' title 'p99', \
    $library using 7:1 with points pt 5 ps 0.7 lc rgb '#d55e00' title 'max', \
    $floor using 5:1:($7 - $5):(0) with vectors nohead lc rgb '#bbbbbb' title 'floor', \
    $floor using 5:1 with points pt 7 ps 0.8 lc rgb '#bbbbbb' notitle, \
    $floor using 6:1 with points pt 9 ps 0.9 lc rgb '#bbbbbb' notitle, \
    $floor using 7:1 with points pt 5 ps 0.7 lc rgb '#bbbbbb' notitle
unset label
unset logscale x
)";

// Columns of $changes: y, ratio, lowest ratio, highest ratio, text.
constexpr char changes[] = R"(set format x '%g'
set arrow from 1, graph 0 to 1, graph 1 nohead lc rgb '#888888'
plot $changes using 2:1:3:4 with xerrorbars pt 7 ps 0.8 lc rgb '#0072b2' title 'rounds', \
    $changes using (to):1:5 with labels left offset 1, 0 notitle
)";

/// Quotes text for gnuplot, which expands no command, macro or escape in single quotes.
std::string literal(std::string_view text)
{
    std::string out = "'";
    for (char const c : text)
        out.append(c == '\'' ? 2 : 1, static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c);
    return out + '\'';
}

std::string literal(std::vector<std::string> const& lines)
{
    std::vector<std::string> all;
    for (auto const& l : lines)
        all.push_back(literal(l));
    return fmt::format("{}", fmt::join(all, ".\"\\n\"."));
}

/// Breaks text into lines of at most @p columns; a longer word has a line of its own.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns)
{
    std::vector<std::string> lines(1);
    while (!text.empty()) {
        auto const word = text.substr(0, text.find(' '));
        if (!lines.back().empty() && width(lines.back()) + 1 + width(word) > columns)
            lines.emplace_back();
        lines.back().append(lines.back().empty() ? "" : " ").append(word);
        text.remove_prefix(std::min(word.size() + 1, text.size()));
    }
    return lines;
}

std::string coordinate(double value)
{
    auto const text = plain(value, 7);
    return text.empty() ? "NaN" : text;
}

/// The range of an axis.
struct extent {
    double low = std::numeric_limits<double>::infinity(), high = 0;

    void add(double value)
    {
        if (std::isfinite(value) && value > 0) {
            low = std::min(low, value);
            high = std::max(high, value);
        }
    }

    extent decades() const
    {
        if (high == 0)
            return {1, 10};
        auto const first = std::floor(std::log10(low));
        return {std::pow(10, first), std::pow(10, std::max(first + 1, std::ceil(std::log10(high))))};
    }
};

std::string rate_text(result const& r)
{
    if (r.rounds == 0)
        return "failed";
    auto text = figure(r.cycles_per_second);
    if (r.ratio_to_floor)
        text += fmt::format(", {} of {}", figure(*r.ratio_to_floor), floor_is_redlock(r) ? "redlock" : "the floor");
    return text;
}

/// The results as data for gnuplot, and their labels. y counts pixels from the top.
struct lines_of_data {
    std::string library, floor, changes, names;
    std::size_t columns = 0;  ///< width of the longest name
    double height = 0;
    double middle = 0;  ///< of the last row
    bool has_others = false;
    extent rates, latencies, ratios;

    void add(std::string& data, double y, double rate, double spread, percentiles const& p,
             std::string const& text = {}, bool is_other = false)
    {
        auto const least = rate * (1 - spread / 2), greatest = rate * (1 + spread / 2);
        data += fmt::format("{} {} {} {}", y, coordinate(rate), coordinate(least), coordinate(greatest));
        for (auto const value : {rate, greatest})
            rates.add(value);
        for (auto const us : {p.p50, p.p99, p.max}) {
            data += ' ' + coordinate(measured(p) ? us / 1e6 : unknown);
            latencies.add(us / 1e6);
        }
        data += fmt::format(" \"{}\" {:d}\n", text, is_other);
    }

    void add(result const& r)
    {
        bool const with_floor = !floor_is_redlock(r) && (r.floor_cycles_per_second || r.floor_cycle_us);
        bool const is_other = floor_is_redlock(r) && !r.variant.starts_with("redlock");
        has_others |= is_other;
        auto const violations = r.violations > 0 ? fmt::format(", VIOLATIONS: {}", r.violations) : std::string();
        auto const name = wrapped(label(r) + violations, name_columns);
        for (auto const& l : name)
            columns = std::max(columns, width(l));
        auto const row = floor_is_redlock(r) && name.size() == 1 ? narrow_row : row_height;
        middle = height + row / 2;
        auto const beside = with_floor ? from_middle : 0;
        add(library, middle - beside, r.cycles_per_second, r.rounds > 1 ? r.spread : unknown, r.cycle_us, rate_text(r),
            is_other);
        if (with_floor)
            add(floor, middle + beside, r.floor_cycles_per_second.value_or(unknown), unknown,
                r.floor_cycle_us.value_or(percentiles{}));
        // gnuplot would treat the label of a tic as a format, and cut it.
        names += fmt::format("set label {} at graph 0, first {} right offset -1, 0\n", literal(name),
                             middle - static_cast<double>(name.size() - 1) * title_line / 2);
        height += row;
    }

    void add(rate_change const& c)
    {
        auto const ratio = c.before > 0 ? c.after / c.before : unknown;
        for (auto const value : {ratio - c.spread, ratio + c.spread})
            ratios.add(value);
        changes += fmt::format("{} {} {} {} \"{} ({})\"\n", middle, coordinate(ratio), coordinate(ratio - c.spread),
                               coordinate(ratio + c.spread), change(c.before, c.after), c.what);
    }
};

lines_of_data lines_of(run const& r, run const* before)
{
    lines_of_data all;
    for (auto const& s : scenarios_of(r)) {
        all.names += fmt::format("set label {} at screen 0, first {} offset 2, 0 font ',14'\n", literal(s.name),
                                 all.height + heading * 0.6);
        all.height += heading;
        for (auto const* is : s.results) {
            all.add(*is);
            if (auto const* const was = before ? find_like(*before, *is) : nullptr)
                all.add(change_of(*was, *is));
        }
    }
    return all;
}

std::string where_and_when(run const& r)
{
    return fmt::format("{}, {}, {}", machine_entry(r, "date"), machine_entry(r, "processor"),
                       machine_entry(r, "server"));
}

}  // namespace

std::string to_plot(run const& r, run const* before)
{
    auto const data = lines_of(r, before);
    auto const left = 2 * margin + static_cast<double>(data.columns) * character;
    auto const all_width = left + 2 * (panel + gap) + text_column + (before ? panel + text_column : 0);
    auto title = wrapped(machine_entry(r, "command"), static_cast<std::size_t>((all_width - 2 * margin) / character));
    title.push_back(where_and_when(r));
    if (before)
        title.push_back("Compared with " + where_and_when(*before));
    if (r.results.empty())
        title.push_back("No results.");
    auto const top = margin + static_cast<double>(title.size()) * title_line + panel_title;
    auto const all_height = top + data.height + axis;

    auto script = fmt::format("set terminal svg size {:.0f},{:.0f} {}", all_width, all_height, style);
    script += fmt::format("others = '{}'\n", data.has_others ? "others" : "");
    for (auto const& [name, lines] :
         {std::pair("library", &data.library), {"floor", &data.floor}, {"changes", &data.changes}})
        script += fmt::format("${} << EOD\n{}EOD\n", name, lines->empty() ? nothing : *lines);
    script += fmt::format("set multiplot\nset tmargin at screen {}\nset bmargin at screen {}\nset yrange [{}:0]\n",
                          1 - top / all_height, axis / all_height, std::max(data.height, 1.0));

    auto const above_key = data.has_others ? 2.7 : 2.2;  // with the others, the key has two lines
    auto const begin_panel = [&](double at, std::string_view name, extent const& range) {
        script += fmt::format("set lmargin at screen {}\nset rmargin at screen {}\n"
                              "set label {} at graph 0, graph 1 offset 0, {} font ',14'\n"
                              "from = {}\nto = {}\nset xrange [from:to]\n",
                              at / all_width, (at + panel) / all_width, literal(name), above_key, coordinate(range.low),
                              coordinate(range.high));
    };
    bool const decades = data.rates.high > 20 * data.rates.low;
    begin_panel(left, decades ? "Locks per second (logarithmic)" : "Locks per second",
                decades ? data.rates.decades() : extent{0, data.rates.high > 0 ? data.rates.high * 1.02 : 1});
    script += fmt::format("set label {} at screen 0, screen 1 offset 2, -1.2\n", literal(title)) + data.names;
    script += decades ? "set logscale x\n" : "";
    script += rates;
    begin_panel(left + panel + text_column, "Time of a lock and its release (logarithmic)", data.latencies.decades());
    script += latencies;
    if (before) {
        begin_panel(left + 2 * (panel + gap) + text_column, "Ratio to the run before",
                    {std::min(data.ratios.low * 0.98, 0.9), std::max(data.ratios.high * 1.02, 1.1)});
        script += changes;
    }
    return script + "unset multiplot\n";
}

void need_gnuplot()
{
    if (testbed::process({"gnuplot", "--version"}, {.output = "/dev/null"}).wait().code() != 0)
        throw std::runtime_error("--plot: gnuplot cannot be run; install it (apt-get install gnuplot-nox), "
                                 "or write the figures with --json and plot them yourself");
}

std::string drawn(std::string const& script)
{
    testbed::temporary_folder const folder;
    auto const file = folder.path + "/script";
    std::ofstream(file, std::ios::binary) << script;
    testbed::process gnuplot({"gnuplot", "--default-settings", file}, {.piped = true});
    auto picture = gnuplot.read();
    auto const end = gnuplot.wait();
    if (end.code() != 0 || picture.find("</svg>") == picture.npos)
        throw std::runtime_error("--plot: gnuplot " + end.in_words());
    return picture;
}

}  // namespace redlock::bench
