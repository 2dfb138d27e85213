#pragma once

#include <cstddef>
#include <random>
#include <string_view>
#include <vector>

namespace redlock::test {

using pieces = std::vector<std::string_view>;

/// Calls @p f with @p bytes in two pieces for each position, byte by byte, and in random pieces with a fixed seed.
template <class F>
void each_split(std::string_view bytes, F f)
{
    for (std::size_t at = 0; at <= bytes.size(); ++at)
        f(pieces{bytes.substr(0, at), bytes.substr(at)});
    std::mt19937 random(1);
    for (std::size_t longest : {1, 1, 3, 3, 9, 9, 27, 27}) {
        pieces all;
        for (auto rest = bytes; !rest.empty(); rest.remove_prefix(all.back().size()))
            all.push_back(rest.substr(0, 1 + random() % longest));
        f(all);
    }
}

}  // namespace redlock::test
