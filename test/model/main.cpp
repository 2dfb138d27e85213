// Explores every state of the protocols, and checks that each broken protocol is seen to be broken. Run with --help.

#include "model/exclusion.hpp"
#include "model/fencing.hpp"
#include "support/stated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace redlock::model;

constexpr char usage[] =
    R"(usage: redlock_model [OPTION]…

Explores every state that the protocols can reach in small worlds. Exit status 0 only if no violation was found where
none may be, and one in every control: a world in which a rule is left out.

  (none)        the small worlds, within a minute and 1 GiB
  --large       the large ones as well: a quarter of an hour, 2 GiB
  --world NAME  only this one
  --trace NAME  only this one, and the shortest way to its violation
  --list        the worlds
)";

// A state takes up to 31 bytes.
constexpr std::uint64_t states_max = 30'000'000;
constexpr std::uint64_t states_max_large = 250'000'000;

std::vector<world> all_worlds()
{
    auto all = fencing_worlds();
    auto const more = exclusion_worlds();
    all.insert(all.end(), more.begin(), more.end());
    // Controls last.
    std::stable_partition(all.begin(), all.end(), [](world const& w) { return w.safe; });
    return all;
}

struct settings {
    bool large = false;
    bool trace = false;
    std::string only;
};

// What was found, and whether that is right.
std::pair<std::string, bool> verdict(world const& w, report const& r)
{
    if (!r.complete)
        return {"NOT FINISHED: too many states", false};
    if (w.safe)
        return r.wrong.empty() ? std::pair(std::string("holds"), true) : std::pair("VIOLATED: " + r.wrong, false);
    return r.wrong.empty() ? std::pair(std::string("NOTHING FOUND, though it is broken"), false)
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
        good = redlock::test::stated(fmt::format("{} worlds, {:.1f} million states: nothing found; {} broken variants, each found", worlds, million, broken)) && good;
    }
    if (s.only.empty())
        fmt::print("{} worlds, {} states, {:.1f} s: {}\n", worlds, states, seconds, good ? "all as expected" : "NOT as expected");
    return good ? 0 : 1;
}

std::optional<settings> parse(std::vector<std::string_view> const& arguments)
{
    settings s;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        auto const option = arguments[i];
        if (option == "--large") {
            s.large = true;
            continue;
        }
        if (option != "--world" && option != "--trace") {
            fmt::print(stderr, "redlock_model: unknown option \"{}\"\n\n{}", option, usage);
            return std::nullopt;
        }
        s.trace = s.trace || option == "--trace";
        if (i + 1 == arguments.size()) {
            fmt::print(stderr, "redlock_model: {} needs the name of a world; --list tells which there are\n", option);
            return std::nullopt;
        }
        s.only = arguments[++i];
        auto const worlds = all_worlds();
        if (std::none_of(worlds.begin(), worlds.end(), [&](world const& w) { return w.name == s.only; })) {
            fmt::print(stderr, "redlock_model: {}: there is no world \"{}\"; --list tells which there are\n", option, s.only);
            return std::nullopt;
        }
    }
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
    std::vector<std::string_view> const arguments(argv + 1, argv + argc);
    if (std::find(arguments.begin(), arguments.end(), "--help") != arguments.end()) {
        fmt::print("{}", usage);
        return 0;
    }
    try {
        if (arguments.size() == 1 && arguments[0] == "--list") {
            list();
            return 0;
        }
        auto const s = parse(arguments);
        return s ? run(*s) : 2;
    } catch (std::exception const& e) {
        fmt::print(stderr, "redlock_model: {}\n", e.what());
        return 1;
    }
}
