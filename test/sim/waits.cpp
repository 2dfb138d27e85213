#include "sim/waits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace redlock::sim {

namespace {

using namespace std::chrono_literals;

bool overlap(std::span<std::string const> one, std::span<std::string const> other)
{
    return std::find_first_of(one.begin(), one.end(), other.begin(), other.end()) != one.end();
}

char const* purpose(mode m)
{
    return m == mode::shared ? "to share " : m == mode::upgradeable ? "for the right to upgrade " : "for ";
}

std::string shown(wait const& w, std::span<claim const> claims)
{
    auto line = fmt::format("  {} waits {}{} for {} ms", w.name, w.upgrades ? "to upgrade " : purpose(w.mode),
                            fmt::join(w.resources, " and "), w.calm / 1ms);
    for (auto& c : claims) {
        if (c.who == w.who)
            line += fmt::format(", {} {}", c.shares ? "shares" : "has", fmt::join(c.resources, " and "));
    }
    return line + "\n";
}

// A wait may depend on an owner that holds the name in another mode. It may also depend on an earlier call, if both are
// in one queue, or if the wait takes several steps.
bool may_wait_for(wait const& w, wait const& other, std::span<claim const> claims)
{
    if (w.who == other.who)
        return false;
    auto const keeps_out = [&](claim const& c) {
        return c.who == other.who && overlap(w.resources, c.resources) && (!c.shares || w.mode == mode::exclusive);
    };
    if (std::any_of(claims.begin(), claims.end(), keeps_out))
        return true;
    bool const has_a_part = other.resources.size() > 1 || other.mode == mode::upgradeable;
    return !w.upgrades && overlap(w.resources, other.resources) && other.since < w.since
           && (w.in == other.in || has_a_part);
}

// Returns the shortest cycle of waits through @p first; empty if there is none.
std::vector<wait const*> cycle_through(wait const& first, std::list<wait const*> const& waits,
                                       std::span<claim const> claims)
{
    std::vector<std::pair<wait const*, std::size_t>> reached{{&first, 0}};  // each with the index of the wait before it
    for (std::size_t i = 0; i < reached.size(); ++i) {
        for (auto const* next : waits) {
            if (!may_wait_for(*reached[i].first, *next, claims))
                continue;
            if (next == &first || next->who == first.who) {
                std::vector<wait const*> cycle{reached[i].first};
                for (auto at = i; at != 0; cycle.push_back(reached[at].first))
                    at = reached[at].second;
                std::reverse(cycle.begin(), cycle.end());
                return cycle;
            }
            if (std::none_of(reached.begin(), reached.end(), [next](auto& r) { return r.first == next; }))
                reached.emplace_back(next, i);
        }
    }
    return {};
}

}  // namespace

std::string find_deadlock(std::list<wait const*> const& waits, std::span<claim const> claims, clock::duration limit)
{
    std::list<wait const*> longest;
    std::copy_if(waits.begin(), waits.end(), std::back_inserter(longest), [limit](auto* w) { return w->calm > limit; });
    for (auto const* w : longest) {
        auto const cycle = cycle_through(*w, longest, claims);
        if (cycle.empty())
            continue;
        std::string all = "deadlock, these calls wait for each other:\n";
        for (auto const* one : cycle)
            all += shown(*one, claims);
        return all;
    }
    auto const starves = std::find_if(longest.begin(), longest.end(), [limit](auto* w) { return w->calm > 2 * limit; });
    if (starves == longest.end())
        return {};
    auto all = "starvation, this call waits for too long:\n" + shown(**starves, claims);
    for (auto const* other : waits) {
        if (may_wait_for(**starves, *other, claims))
            all += shown(*other, claims);
    }
    return all;
}

}  // namespace redlock::sim
