#pragma once

#include <algorithm>
#include <string_view>

namespace redlock::my {

/// Up to @p mark, which is taken away, too; all of it if there is none.
inline std::string_view take(std::string_view& rest, char mark)
{
    auto const end = std::min(rest.find(mark), rest.size());
    auto const part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
}

}  // namespace redlock::my
