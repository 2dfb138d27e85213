#include "sim/gallery/exhibition.hpp"

#include "sim/gallery/trial.hpp"
#include "support/stated.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <numeric>
#include <span>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

namespace redlock::sim::gallery {

namespace {

/// Worlds that are alike: a column of the table.
struct kind {
    std::string_view name;
    std::vector<std::string_view> profiles;
};

std::vector<kind> const kinds{
    {"quiet", {"quiet"}},
    {"slow", {"slow"}},
    {"network", {"lossy", "late replies", "partitions"}},
    {"crashes", {"crashes"}},
    {"restarts", {"restarts", "power cuts"}},
    {"clocks", {"clocks"}},
};

/// A time server sets the clients' clocks, except in worlds with wrong clocks.
profile conditions_of(std::string_view name)
{
    auto p = *find_profile(name);
    p.wall_clock_error = p.jump.every > 0ms ? p.jump.longest : 20ms;
    return p;
}

/// How exclusion was broken once. The fewer faults it takes, the more a story tells.
struct story {
    std::string where{};
    std::vector<std::string> lines{};
    bool shows_flaw = false;
    bool clocks_were_wrong = false;
    bool somebody_stood_still = false;

    bool tells_more_than(story const& other) const
    {
        auto const order = [](story const& s) {
            return std::tuple(s.lines.empty(), !s.shows_flaw, s.clocks_were_wrong, s.somebody_stood_still,
                              s.lines.size());
        };
        return order(*this) < order(other);
    }
};

/// Whether @p text has all parts of @p words, which " … " separates, in their order.
bool says(std::string_view text, std::string_view words)
{
    constexpr std::string_view between = " … ";
    for (std::size_t begin = 0; begin != words.npos;) {
        auto const end = words.find(between, begin);
        auto const part = words.substr(begin, end - begin);
        auto const at = text.find(part);
        if (at == text.npos)
            return false;
        text.remove_prefix(at + part.size());
        begin = end == words.npos ? end : end + between.size();
    }
    return true;
}

story tell(exhibit const& e, profile const& p, std::uint64_t seed, std::vector<std::string> lines)
{
    auto const where = fmt::format("{}, seed {}", p.name, seed);
    auto const text = fmt::format("{}\n{}", where, fmt::join(lines, "\n"));
    bool const stood_still = text.find(" stands still for ") != text.npos;
    bool const alone = p.exclusive && !stood_still;
    return {where, std::move(lines), says(text, e.flaw) && (alone || !e.flaw_alone), !p.exclusive, stood_still};
}

/// The results of one algorithm in all worlds.
struct record {
    exhibit what;
    std::size_t worlds = 0;
    std::vector<std::size_t> broken = std::vector<std::size_t>(kinds.size());  ///< worlds with two holders, by kind
    std::size_t broken_unpaused = 0, broken_against_promise = 0;
    std::size_t deadlocked = 0, left_keys = 0, unused = 0;
    std::size_t first_shown = 0;                                    ///< the first world that shows the flaw; 0: none
    std::vector<story> stories = std::vector<story>(kinds.size());  ///< by kind
    story deadlock{}, refusal{};
    std::string violation{};
    double rate = 0, rate_with_one_stopped = 0, least_share = 0;

    std::size_t broken_in_all() const { return std::accumulate(broken.begin(), broken.end(), std::size_t(0)); }
    bool caught() const { return broken_in_all() + deadlocked + unused > 0; }
    bool shows_flaw() const
    {
        if (what.flaw.empty())
            return caught();
        return deadlock.shows_flaw || refusal.shows_flaw
               || std::ranges::any_of(stories, [](auto& s) { return s.shows_flaw; });
    }

    bool as_promised() const
    {
        if (what.excludes == promise::none)
            return caught();
        return violation.empty() && broken_against_promise + deadlocked + left_keys == 0;
    }
};

void note(record& r, std::size_t kind, profile const& p, std::uint64_t seed, verdict v)
{
    ++r.worlds;
    r.broken[kind] += v.broken;
    r.broken_unpaused += v.broken_unpaused;
    r.deadlocked += v.deadlocked;
    r.left_keys += v.left_keys;
    if (r.violation.empty())
        r.violation = v.violation;
    bool const excusable = r.what.excludes == promise::unless_paused && (!p.exclusive || !v.broken_unpaused);
    r.broken_against_promise += v.broken && !excusable;
    if (v.deadlocked) {
        auto s = tell(r.what, p, seed, std::move(v.deadlock_history));
        s.shows_flaw = s.shows_flaw && s.lines.size() > 2;  // it also says what happened to the client
        if (s.tells_more_than(r.deadlock))
            r.deadlock = std::move(s);
    }
    if (v.broken) {
        auto s = tell(r.what, p, seed, std::move(v.history));
        if (s.tells_more_than(r.stories[kind]))
            r.stories[kind] = std::move(s);
    }
    if (r.first_shown == 0 && r.shows_flaw())
        r.first_shown = r.worlds;
}

// Not one of the worlds of the table.
void note_whether_unused(record& r, std::uint64_t seed)
{
    auto const p = conditions_of("quiet");
    auto v = try_out(r.what, {.faults = p, .one_stopped = r.what.shows == symptom::unused_with_one_stopped}, seed);
    ++r.worlds;
    if (v.unused_history.empty())
        return;
    ++r.unused;
    auto s = tell(r.what, p, seed, std::move(v.unused_history));
    if (s.tells_more_than(r.refusal))
        r.refusal = std::move(s);
    if (r.first_shown == 0 && r.shows_flaw())
        r.first_shown = r.worlds;
}

// The kinds take turns, so that a fault that only one of them shows is found early.
void try_for_safety(record& r, plan const& wanted)
{
    auto const is_done = [&] { return wanted.until_caught && r.shows_flaw() && r.what.excludes == promise::none; };
    for (std::uint64_t seed = wanted.first; seed < wanted.first + wanted.seeds; ++seed) {
        if (r.what.shows != symptom::two_at_once)
            note_whether_unused(r, seed);
        if (is_done())
            return;
        for (std::size_t k = 0; k < kinds.size(); ++k) {
            for (auto const name : kinds[k].profiles) {
                auto const p = conditions_of(name);
                note(r, k, p, seed, try_out(r.what, {.faults = p}, seed));
                if (is_done())
                    return;
            }
        }
    }
}

void try_for_speed(record& r, plan const& wanted)
{
    auto const p = conditions_of("quiet");
    std::size_t visits = 0, visits_with_one_stopped = 0;
    for (std::uint64_t seed = wanted.first; seed < wanted.first + wanted.seeds; ++seed) {
        auto const v = try_out(r.what, {.faults = p, .brief = true}, seed);
        visits += v.visits;
        r.least_share += v.least_share / static_cast<double>(wanted.seeds);
        visits_with_one_stopped += try_out(r.what, {.faults = p, .brief = true, .one_stopped = true}, seed).visits;
    }
    auto const seconds = static_cast<double>(wanted.seeds) * std::chrono::duration<double>(time_of_faults).count();
    r.rate = static_cast<double>(visits) / seconds;
    r.rate_with_one_stopped = static_cast<double>(visits_with_one_stopped) / seconds;
}

std::string row(record const& r)
{
    auto text = fmt::format("{:<32}", r.what.name);
    for (auto const n : r.broken)
        text += fmt::format("{:>9}", n);
    auto const cost = r.rate > 0 ? r.rate_with_one_stopped / r.rate : 0;
    return text
           + fmt::format("{:>9}{:>10}{:>6}{:>9.1f}{:>7.2f}{:>9.2f}", r.broken_unpaused, r.deadlocked, r.left_keys,
                         r.rate, r.least_share, cost);
}

/// @return whether the page $REDLOCK_STATED_IN says the same. The library's own lines are not compared, because every
/// change to the library moves them a little.
bool print_table(std::span<record const> all, plan const& wanted)
{
    fmt::print("{:<32}", "two at once, in worlds that are");
    for (auto const& k : kinds)
        fmt::print("{:>9}", k.name);
    fmt::print("{:>9}{:>10}{:>6}{:>9}{:>7}{:>9}\n", "unpaused", "deadlock", "left", "locks/s", "least", "stopped");
    fmt::print("{:<32}", "so many of each");
    for (auto const& k : kinds)
        fmt::print("{:>9}", k.profiles.size() * wanted.seeds);
    fmt::print("\n");
    bool stated = true;
    for (auto const& r : all) {
        auto const text = row(r);
        fmt::print("{}\n", text);
        stated = (r.what.excludes != promise::none || test::stated(text)) && stated;
    }
    return stated;
}

void print(story const& s)
{
    fmt::print("  in {}:\n", s.where);
    for (auto const& line : s.lines)
        fmt::print("{}\n", line);
}

/// Prints, for each algorithm, the story that tells most, or one of each kind.
void print_stories(std::span<record const> all, bool of_each_kind)
{
    for (auto const& r : all) {
        fmt::print("\n{}: two at once in {} of {} worlds\n", r.what.name, r.broken_in_all(), r.worlds);
        if (!of_each_kind && r.broken_in_all() > 0)
            print(*std::ranges::min_element(r.stories, [](auto& a, auto& b) { return a.tells_more_than(b); }));
        for (auto const& s : r.stories) {
            if (of_each_kind && !s.lines.empty())
                print(s);
        }
        if (r.deadlocked > 0) {
            fmt::print("{}: deadlock in {} of {} worlds\n", r.what.name, r.deadlocked, r.worlds);
            print(r.deadlock);
        }
        if (r.unused > 0) {
            fmt::print("{}: refused although nobody had it, in {} quiet worlds{}\n", r.what.name, r.unused,
                       r.what.shows == symptom::unused_with_one_stopped ? " with one server stopped" : "");
            print(r.refusal);
        }
    }
}

bool print_whether_as_promised(std::span<record const> all)
{
    bool good = true;
    for (auto const& r : all) {
        if (r.as_promised())
            continue;
        good = false;
        if (r.what.excludes == promise::none)
            fmt::print("{}: not caught in {} worlds\n", r.what.name, r.worlds);
        else
            fmt::print("{}: against its promise two at once in {} of {} worlds, deadlocks in {}, keys left in {} {}\n",
                       r.what.name, r.broken_against_promise, r.worlds, r.deadlocked, r.left_keys, r.violation);
    }
    return good;
}

// Otherwise an algorithm may be caught only by flaws that it has in common with others.
bool print_whether_flaws_are_shown(std::span<record const> all)
{
    bool good = true;
    for (auto const& r : all) {
        if (r.what.excludes != promise::none || r.shows_flaw())
            continue;
        good = false;
        fmt::print("{}: no history has the words \"{}\"; try more --seeds\n", r.what.name, r.what.flaw);
    }
    return good;
}

}  // namespace

int exhibit_all(plan const& wanted)
{
    std::vector<record> all;
    for (auto const& e : catalogue(wanted.only))
        all.push_back({.what = e});
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < wanted.jobs; ++i) {
        threads.emplace_back([&] {
            for (auto n = next++; n < all.size(); n = next++) {
                try_for_safety(all[n], wanted);
                if (!wanted.until_caught)
                    try_for_speed(all[n], wanted);
            }
        });
    }
    for (auto& t : threads)
        t.join();
    if (wanted.until_caught) {
        for (auto const& r : all) {
            bool const is_hunted = r.what.excludes == promise::none;
            fmt::print("{:<32}{} {}\n", r.what.name,
                       is_hunted ? "caught in world" : "worlds:", is_hunted ? r.first_shown : r.worlds);
        }
        bool const shown = print_whether_flaws_are_shown(all);
        return print_whether_as_promised(all) && shown ? 0 : 1;
    }
    bool const stated = print_table(all, wanted);
    print_stories(all, !wanted.only.empty());
    bool const shown = print_whether_flaws_are_shown(all);
    return print_whether_as_promised(all) && shown && stated ? 0 : 1;
}

}  // namespace redlock::sim::gallery
