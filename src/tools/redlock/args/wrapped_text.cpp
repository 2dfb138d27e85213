#include "tools/redlock/args/wrapped_text.hpp"

#include "tools/redlock/args/node_urls.hpp"

#include <algorithm>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace redlock::cli {

namespace {

// Where the second column of a row begins, or its first one.
std::size_t last_column_of(std::string_view row)
{
    auto const first = std::min(row.find_first_not_of(' '), row.size());
    auto const gap = row.find("  ", first);
    return gap == row.npos ? first : std::min(row.find_first_not_of(' ', gap), row.size());
}

std::string_view take_line(std::string_view& text)
{
    auto const line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

}  // namespace

std::size_t columns_of_output()
{
    winsize size{};
    bool const is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return is_known ? std::clamp<std::size_t>(size.ws_col, 40, 120) : 80;
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns)
{
    std::string lines;
    auto column = indent;
    while (!text.empty()) {
        auto const word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.find_first_not_of(' ', word.size()), text.size()));
        if (word.empty())
            continue;
        if (column > indent && column + 1 + width_of(word) > columns) {
            (lines += '\n').append(indent, ' ');
            column = indent;
        } else if (column > indent) {
            lines += ' ';
            ++column;
        }
        lines += word;
        column += width_of(word);
    }
    return lines;
}

std::string wrapped_document(std::string_view text, std::size_t columns)
{
    std::string all, paragraph;
    auto const end_paragraph = [&] {
        if (!paragraph.empty())
            all += wrapped(std::exchange(paragraph, {}), 0, columns) + '\n';
    };
    while (!text.empty()) {
        auto const line = take_line(text);
        if (!line.empty() && line.front() != ' ') {
            (paragraph += paragraph.empty() ? "" : " ") += line;
            continue;
        }
        end_paragraph();
        auto const column = last_column_of(line);
        (all += line.substr(0, column)) += wrapped(line.substr(column), column, columns) + '\n';
    }
    end_paragraph();
    all.resize(all.find_last_not_of('\n') + 1);
    return all;
}

}  // namespace redlock::cli
