#include "tools/redlock/args/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

namespace redlock::cli {

namespace {

constexpr std::pair<std::string_view, std::string_view> words_of_others[] = {
    {"--timeout", "--wait"}, {"--lease", "--ttl"}, {"--expire", "--ttl"}, {"--no-wait", "--nonblock"}};

// How many letters must be changed, added, removed, or swapped with the next, to make @p b of @p a (optimal string
// alignment).
std::size_t distance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t(0));
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = std::exchange(last, row);
    }
    return last.back();
}

}  // namespace

std::string nearest(std::string_view word, std::vector<std::string> const& known)
{
    auto const* const other = std::ranges::find(words_of_others, word, [](auto const& w) { return w.first; });
    if (other != std::end(words_of_others) && std::ranges::find(known, other->second) != known.end())
        return std::string(other->second);
    std::size_t least = 3;
    std::string found;
    for (auto const& k : known) {
        auto const d = distance(word, k);
        if (d < least && 2 * d < word.size()) {
            least = d;
            found = k;
        }
    }
    return found;
}

std::string did_you_mean(std::string_view word, std::vector<std::string> const& known)
{
    auto const found = nearest(word, known);
    return found.empty() ? found : fmt::format("; did you mean \"{}\"?", found);
}

}  // namespace redlock::cli
