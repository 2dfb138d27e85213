#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redlock::bench {

/** Aligns rows of cells for a terminal.

    A column is as wide as its widest cell; an empty column has no width. A row with one cell is a line of text, and an
    empty row is a blank line. After a left-aligned cell of more than 20 characters, the row continues on a new line, so
    that the later columns stay aligned.

    @param alignment one character per column, l or r.
*/
std::string columns(std::vector<std::vector<std::string>> const& rows, std::string_view alignment);

}  // namespace redlock::bench
