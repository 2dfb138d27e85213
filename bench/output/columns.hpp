#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redlock::bench {

/** Lines up rows of cells for a terminal.

    Columns are as wide as they need to be; empty ones take no room. A row of a single cell is a line of its own,
    an empty one a blank line. A left-aligned cell of more than 20 characters breaks its line, so that the columns after
    it stay where they are.

    @param alignment one character per column, l or r.
*/
std::string columns(std::vector<std::vector<std::string>> const& rows, std::string_view alignment);

}  // namespace redlock::bench
