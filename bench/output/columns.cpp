#include "output/columns.hpp"
#include "output/text.hpp"

#include <algorithm>

namespace redlock::bench {

namespace {

constexpr std::size_t widest_left = 20;

std::vector<std::size_t> widths_of(std::vector<std::vector<std::string>> const& rows, std::string_view alignment)
{
    std::vector<std::size_t> widths(alignment.size());
    for (auto const& row : rows) {
        for (std::size_t i = 0; row.size() > 1 && i < row.size(); ++i) {
            if (alignment[i] == 'r' || width(row[i]) <= widest_left)
                widths[i] = std::max(widths[i], width(row[i]));
        }
    }
    return widths;
}

/// Pads @p line up to @p column, where the next cell begins.
void pad_to(std::string& line, std::size_t column)
{
    if (auto const at = width(line); at < column)
        line.append(column - at, ' ');
}

std::string line_of(std::vector<std::string> const& row, std::vector<std::size_t> const& widths,
                    std::string_view alignment)
{
    std::string done, line;
    std::size_t column = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
        column += widths[i] > 0 || !row[i].empty() ? 2 : 0;
        pad_to(line, alignment[i] == 'r' ? column + widths[i] - width(row[i]) : column);
        if (!row[i].empty())
            line += row[i];
        column += widths[i];
        if (width(row[i]) > widths[i] && i + 1 < row.size()) {
            done = line + "\n";
            line.clear();
        }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return done + line + "\n";
}

}  // namespace

std::string columns(std::vector<std::vector<std::string>> const& rows, std::string_view alignment)
{
    auto const widths = widths_of(rows, alignment);
    std::string text;
    for (auto const& row : rows)
        text += row.empty() ? "\n" : row.size() == 1 ? "  " + row[0] + "\n" : line_of(row, widths, alignment);
    return text;
}

}  // namespace redlock::bench
