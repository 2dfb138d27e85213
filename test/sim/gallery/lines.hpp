#pragma once

#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Functions for all extracts from histories.
namespace redlock::sim::gallery {

inline constexpr std::size_t time_width = 13;  // of a line of a history

inline std::vector<std::string> lines_of(std::string const& trace)
{
    std::vector<std::string> all;
    std::istringstream stream(trace);
    for (std::string line; std::getline(stream, line);)
        all.push_back(std::move(line));
    return all;
}

inline std::string replaced(std::string line, std::string_view what, std::string_view with)
{
    for (auto at = line.find(what); at != line.npos; at = line.find(what, at + with.size()))
        line.replace(at, what.size(), with);
    return line;
}

}  // namespace redlock::sim::gallery
