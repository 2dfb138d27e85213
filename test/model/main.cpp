// Explores every state of the protocols, and checks that it finds each broken variant. Run with --help.

#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/option_parser.hpp"
#include "model/worlds.hpp"
#include "support/stated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace redlock::model;

constexpr char about[] =
    R"(Explores every state that the protocols can reach in small worlds. Exit status 0 only if every correct
protocol holds, and a violation is found in every control: a world in which a rule is left out. Without an option: the
small worlds, within a minute and 1 GiB.)";

// A state takes up to 31 bytes.
constexpr std::uint64_t states_max = 30'000'000;
constexpr std::uint64_t states_max_large = 250'000'000;

std::vector<world> all_worlds()
{
    auto all = fencing_worlds();
    for (auto const& more : {moves_worlds(), exclusion_worlds(), founding_worlds(), sets_worlds(), shared_worlds(),
                             reader_tokens_worlds(), progress_worlds(), slots_worlds(), takeover_worlds()})
        all.insert(all.end(), more.begin(), more.end());
    // The controls come last.
    std::stable_partition(all.begin(), all.end(), [](world const& w) { return w.safe; });
    return all;
}

struct settings {
    bool large = false;
    bool trace = false;
    bool list = false;
    std::string only;
};

// The result as a text, and whether it is the expected one.
std::pair<std::string, bool> verdict(world const& w, report const& r)
{
    if (!r.complete)
        return {"NOT FINISHED: too many states", false};
    if (w.safe)
        return r.wrong.empty() ? std::pair(std::string("holds"), true) : std::pair("VIOLATED: " + r.wrong, false);
    return r.wrong.empty() ? std::pair(std::string("NO VIOLATION FOUND, although a rule is broken"), false)
                           : std::pair(fmt::format("found: {}", r.wrong), true);
}

int run(settings const& s)
{
    fmt::print("{:<24}{:<58}{:>11}{:>7}{:>9}  {}\n", "world", "what it is", "states", "steps", "seconds", "verdict");
    bool good = true;
    unsigned worlds = 0, broken = 0;
    std::uint64_t states = 0;
    double seconds = 0;
    for (auto const& w : all_worlds()) {
        if (s.only.empty() ? w.large && !s.large : w.name != s.only)
            continue;
        auto const r = w.run(w.large ? states_max_large : states_max);
        auto const [text, right] = verdict(w, r);
        fmt::print("{:<24}{:<58}{:>11}{:>7}{:>9.2f}  {}\n", w.name, w.about, r.states, r.depth, r.seconds, text);
        if (s.trace || !right) {
            for (std::size_t i = 0; i < r.trace.size(); ++i)
                fmt::print("{:>6}  {}\n", i, r.trace[i]);
        }
        std::fflush(stdout);
        good = good && right;
        ++worlds;
        broken += !w.safe;
        states += r.states;
        seconds += r.seconds;
    }
    if (s.only.empty() && !s.large) {
        auto const million = static_cast<double>(states) / 1e6;
        good = redlock::test::stated(
                   fmt::format("{} worlds, {:.1f} million states: nothing found; {} broken variants, each found",
                               worlds, million, broken))
               && good;
    }
    if (s.only.empty())
        fmt::print("{} worlds, {} states, {:.1f} s: {}\n", worlds, states, seconds,
                   good ? "all as expected" : "NOT as expected");
    return good ? 0 : 1;
}

settings parse(std::vector<std::string> arguments)
{
    settings s;
    std::string traced;
    redlock::cli::option_parser line("redlock_model", about);
    line.add_flag("--large", s.large, "explores the large worlds, too: 25 minutes, 2 GiB");
    line.add_text("--world", "NAME", s.only, "explores only this world");
    line.add_text("--trace", "NAME", traced, "explores only this world, and prints the shortest way to its violation");
    line.add_flag("--list", s.list, "prints the worlds");
    line.read(std::move(arguments));

    s.trace = !traced.empty();
    if (s.trace)
        s.only = traced;
    auto const worlds = all_worlds();
    if (!s.only.empty() && std::ranges::find(worlds, s.only, &world::name) == worlds.end())
        line.refuse(fmt::format("there is no world \"{}\"; --list prints the worlds", s.only));
    return s;
}

void list()
{
    for (auto const& w : all_worlds())
        fmt::print("{:<24}{:<58}{}{}\n", w.name, w.about, w.safe ? "holds" : "control", w.large ? ", large" : "");
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        auto const s = parse({argv + 1, argv + argc});
        if (!s.list)
            return run(s);
        list();
        return 0;
    } catch (redlock::cli::early_exit const& e) {
        return e.tell();
    } catch (std::exception const& e) {
        fmt::print(stderr, "redlock_model: {}\n", e.what());
        return 1;
    }
}
