#include "sim/gallery/unused.hpp"

#include "sim/gallery/lines.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

namespace redlock::sim::gallery {

namespace {

constexpr double long_time = 0.5;  // seconds; longer than the longest pause of a process and of an algorithm

constexpr std::string_view tries = " tries", has_it = " has the lock", is_done = " is done";

double time_of(std::string const& line) { return std::stod(line.substr(0, time_width)); }

/// The client that does this. Empty: the line says something else.
std::string who(std::string const& line, std::string_view does)
{
    return line.ends_with(does) ? line.substr(time_width, line.size() - time_width - does.size()) : std::string();
}

std::vector<std::string> first_attempt(std::vector<std::string> const& all)
{
    std::vector<std::string> lines;
    std::string first;
    for (auto const& line : all) {
        auto const another = who(line, tries);
        if (first.empty())
            first = another;
        else if (another == first)
            break;
        if (!first.empty() && line.find(first) != line.npos)
            lines.push_back(replaced(line, first, "A"));
    }
    if (!lines.empty())
        lines.push_back("             … and no client gets the lock, which nobody has");
    return lines;
}

/// Between the end of one holder and the beginning of the next, by the numbers of their lines.
struct gap {
    std::size_t done = 0, next = 0;
    double seconds = 0;
};

}  // namespace

std::vector<std::string> longest_unused(std::string const& trace)
{
    auto const all = lines_of(trace);
    std::size_t done = all.size();  // nobody has had it yet
    bool had = false;
    gap longest;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].ends_with(is_done))
            done = i;
        if (!all[i].ends_with(has_it))
            continue;
        had = true;
        if (done < i && time_of(all[i]) - time_of(all[done]) > longest.seconds)
            longest = {done, i, time_of(all[i]) - time_of(all[done])};
    }
    if (!had)
        return first_attempt(all);
    if (longest.seconds < long_time)
        return {};

    auto const a = who(all[longest.done], is_done), b = who(all[longest.next], has_it);
    auto first = longest.done, granted = longest.next;
    while (first > 0 && all[first].find(a + std::string(tries)) == std::string::npos)
        --first;
    while (granted > longest.done && all[granted].find(" carries out for " + b) == std::string::npos)
        --granted;
    std::vector<std::string> lines;
    std::size_t refusals = 0;
    bool a_tries_again = false;
    for (auto i = first; i <= longest.next; ++i) {
        bool const of_b = i > longest.done && all[i].find(b) != std::string::npos;
        a_tries_again = a_tries_again || (i > longest.done && who(all[i], tries) == a);
        bool const of_a = !a_tries_again && all[i].find(a) != std::string::npos;
        bool const is_refusal = of_b && i < granted;
        refusals += is_refusal && all[i].ends_with("→ 0");
        if (of_a || (of_b && (!is_refusal || refusals == 1)))
            lines.push_back(replaced(replaced(all[i], a, "A"), b, "B"));
    }
    lines.push_back(
        fmt::format("             … nobody had the lock in between, and {} attempts of B failed", refusals));
    return lines;
}

}  // namespace redlock::sim::gallery
