// Plays the library in many simulated worlds, most of them with faults, and checks its promises. Run with --help.

#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/option_parser.hpp"
#include "sim/gallery/catalogue.hpp"
#include "sim/gallery/exhibition.hpp"
#include "sim/herd.hpp"
#include "sim/profile.hpp"
#include "sim/world.hpp"
#include "support/stated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using namespace redlock::sim;

constexpr char about[] =
    R"(Plays the library in virtual time against simulated servers: one world for each seed. Exit status 0 only if every
promise was kept in every world.)";

struct settings {
    std::vector<profile> profiles;
    std::uint64_t first = 1;
    std::uint64_t seeds = 2000;
    unsigned minutes = 0;
    unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
    bool trace = false;
    bool twice = false;
    bool list = false;
    bool gallery = false;
    bool until_caught = false;
    bool herd = false;
    std::string only_algorithm;
};

struct summary {
    std::atomic<std::uint64_t> worlds{0}, acquired{0}, upgraded{0}, resumed{0}, faults{0}, overlaps{0}, disorders{0};
    std::atomic<std::int64_t> milliseconds{0};
};

class player {
public:
    explicit player(settings s) : settings_(std::move(s)), summaries_(settings_.profiles.size()) {}

    int run()
    {
        auto const begun = std::chrono::steady_clock::now();
        if (settings_.minutes > 0)
            deadline_ = begun + std::chrono::minutes(settings_.minutes);
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < settings_.jobs; ++i)
            threads.emplace_back([this] { play(); });
        for (auto& t : threads)
            t.join();
        print(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
        return failures_ == 0 ? 0 : 1;
    }

private:
    // Worlds are numbered across all profiles, so that all profiles advance at the same pace.
    void play()
    {
        auto const kinds = settings_.profiles.size();
        for (;;) {
            auto const n = next_++;
            if (failures_ > 0
                || (deadline_ ? std::chrono::steady_clock::now() > *deadline_ : n >= settings_.seeds * kinds))
                return;
            auto const& p = settings_.profiles[n % kinds];
            auto const seed = settings_.first + n / kinds;
            auto const o = simulate(p, seed, settings_.trace || settings_.twice);
            if (settings_.trace)
                std::fputs(o.trace.c_str(), stdout);
            if (settings_.twice && simulate(p, seed, true).trace != o.trace)
                fail(p, seed, "this world has another history when it is played again");
            if (!o.violation.empty())
                fail(p, seed, o.violation);
            auto& s = summaries_[n % kinds];
            ++s.worlds;
            s.acquired += o.acquired;
            s.upgraded += o.upgraded;
            s.resumed += o.resumed;
            s.faults += o.faults;
            s.overlaps += o.overlaps > 0;
            s.disorders += o.disorders > 0;
            s.milliseconds += o.time / 1ms;
            if (::isatty(2) && n % 100 == 0)
                fmt::print(stderr, "\r{} worlds ", n);
        }
    }

    void fail(profile const& p, std::uint64_t seed, std::string const& why)
    {
        std::lock_guard guard(mutex_);
        ++failures_;
        auto kinds = p.locks == lock_kind::single ? std::string() : fmt::format(" --locks {}", name_of(p.locks));
        if (p.stores != store_kind::redis)
            kinds += fmt::format(" --stores {}", name_of(p.stores));
        fmt::print("{}\n  profile {}, seed {}, after {} worlds of this profile\n  its history: ./dev sim --profile "
                   "{}{} --seed {} --trace\n",
                   why, p.name, seed, seed - settings_.first + 1, p.name, kinds, seed);
    }

    void print(double seconds)
    {
        if (::isatty(2))
            fmt::print(stderr, "\r                \r");
        if (settings_.trace)
            return;
        fmt::print("{:<12}{:>8}{:>14}{:>14}{:>10}{:>12}  {}\n", "profile", "worlds", "virtual time", "acquired",
                   "faults", "per minute", "two holders, tokens out of order");
        double hours_in_all = 0, acquired_in_all = 0;
        std::uint64_t worlds_in_all = 0;
        for (std::size_t i = 0; i < summaries_.size(); ++i) {
            auto const& p = settings_.profiles[i];
            auto const& s = summaries_[i];
            auto const minutes = static_cast<double>(s.milliseconds) / 60'000;
            auto const rate = minutes > 0 ? static_cast<double>(s.acquired + s.resumed) / minutes : 0;
            hours_in_all += minutes / 60;
            acquired_in_all += static_cast<double>(s.acquired);
            worlds_in_all += s.worlds;
            fmt::print(
                "{:<12}{:>8}{:>12.1f} h{:>14}{:>10}{:>12.0f}  {}\n", p.name, s.worlds.load(), minutes / 60,
                s.acquired.load(), s.faults.load(), rate,
                (p.exclusive ? std::string("never") : fmt::format("in {} worlds, not promised", s.overlaps.load()))
                    + "; "
                    + (p.tokens_grow() ? std::string("never")
                                       : fmt::format("in {} worlds, not promised", s.disorders.load())));
            if (failures_ > 0 || s.worlds < 100)  // too few worlds to judge
                continue;
            auto const expect = [&](bool kept, std::string const& otherwise) {
                if (kept)
                    return;
                ++failures_;
                fmt::print("{}: {}\n", p.name, otherwise);
            };
            bool const upgrades = p.locks == lock_kind::shared || p.locks == lock_kind::scopes;
            expect(rate >= p.progress_min,
                   fmt::format("too few acquisitions; the profile requires {} a minute", p.progress_min));
            expect(!upgrades || s.upgraded > 0, "no upgrade succeeded in any world");
            expect(p.locks != lock_kind::tickets || s.resumed > 0, "no lock was resumed in any world");
            expect(!p.shows_two_holders() || s.overlaps > 0, "no world showed two holders, so the check is blind");
            expect(p.tokens_grow() || s.disorders > 0, "no world showed a token out of order, so the check is blind");
        }
        fmt::print("{:.1f} virtual hours in {:.1f} s\n", hours_in_all, seconds);
        if (!redlock::test::stated(fmt::format(
                "{} worlds in {} kinds of conditions, {:.0f} virtual hours, {:.1f} million acquisitions",
                redlock::test::grouped(worlds_in_all), summaries_.size(), hours_in_all, acquired_in_all / 1e6)))
            ++failures_;
    }

    settings const settings_;
    std::optional<std::chrono::steady_clock::time_point> deadline_;
    std::atomic<std::uint64_t> next_{0};
    std::atomic<int> failures_{0};
    std::mutex mutex_;
    std::vector<summary> summaries_;
};

settings parse(std::vector<std::string> arguments)
{
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    settings s;
    std::vector<std::string> names;
    std::uint64_t only = 0;
    redlock::cli::option_parser line("redlock_sim", about);
    line.add_option("--profile", names, "plays only this profile")->type_name("NAME")->expected(1)->take_all();
    std::string locks = std::string(name_of(lock_kind::single));
    line.add_option("--locks", locks,
                    "what workers lock: one resource, up to four, one that may be shared, any of three slots, "
                    "locks that are left to "
                    "others, or several in scopes")
        ->check(CLI::IsMember(std::vector<std::string>(lock_kinds.begin(), lock_kinds.end())))
        ->capture_default_str();
    std::string stores = std::string(name_of(store_kind::redis));
    line.add_option(
            "--stores", stores,
            "what the servers are: Redis servers, databases, clusters whose locks end with a session, or some of each")
        ->check(CLI::IsMember(std::vector<std::string>(store_kinds.begin(), store_kinds.end())))
        ->capture_default_str();
    line.add_number("--seeds", s.seeds, 1, 1'000'000'000, "worlds for each profile");
    line.add_number("--first", s.first, 0, most, "the first seed");
    line.add_number("--minutes", s.minutes, 1, 100'000, "plays fresh seeds for so many minutes instead");
    line.add_number("--jobs", s.jobs, 1, 256, "threads");
    line.add_number("--seed", only, 0, most, "plays only the world of this seed");
    line.add_flag("--trace", s.trace, "prints the history of each world");
    line.add_flag("--twice", s.twice, "plays each world twice and compares the histories, byte for byte");
    line.add_flag("--list", s.list, "prints the profiles");
    auto* const all_algorithms = line.add_flag("--gallery", s.gallery,
                                               "plays other algorithms and the library in the same worlds: what breaks "
                                               "each, in a table (with --first, --seeds, --jobs)");
    line.add_text("--algorithm", "WORDS", s.only_algorithm,
                  "only algorithms with these words in their names, and a history for each kind of worlds")
        ->needs(all_algorithms);
    line.add_flag("--until-caught", s.until_caught, "stops with each algorithm as soon as it is broken")
        ->needs(all_algorithms);
    line.add_flag("--herd", s.herd,
                  "counts notifications and requests of one hand-over while 10, 100 or 1,000 clients wait: the herd "
                  "effect");
    for (auto const* name : {"--profile", "--locks", "--stores", "--minutes", "--trace", "--twice", "--list"})
        all_algorithms->excludes(line.get_option(name));
    line.read(std::move(arguments));

    if (gallery::catalogue(s.only_algorithm).empty())
        line.refuse(
            fmt::format("no algorithm has \"{}\" in its name; --gallery --until-caught lists them", s.only_algorithm));
    if (s.gallery && line.count("--seeds") == 0)
        s.seeds = 22;
    for (auto const& name : names) {
        auto const* p = find_profile(name);
        if (!p)
            line.refuse(fmt::format("there is no profile \"{}\"; --list prints the profiles", name));
        s.profiles.push_back(*p);
    }
    if (stores == name_of(store_kind::session) && locks != name_of(lock_kind::single)
        && locks != name_of(lock_kind::sets))
        line.refuse("the nodes of session stores lock one resource, or several at once; --locks single or sets");
    if (line.count("--seed") > 0) {
        s.first = only;
        s.seeds = 1;
    }
    if (s.minutes > 0 && s.first == 1)
        s.first = std::random_device{}();
    if (s.profiles.empty())
        s.profiles.assign(profiles().begin(), profiles().end());
    for (auto& p : s.profiles) {
        p.locks = static_cast<lock_kind>(std::find(lock_kinds.begin(), lock_kinds.end(), locks) - lock_kinds.begin());
        p.stores =
            static_cast<store_kind>(std::find(store_kinds.begin(), store_kinds.end(), stores) - store_kinds.begin());
        if (p.stores == store_kind::session)
            p.amnesia = false;  // a majority of the cluster's members remembers
    }
    return s;
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        auto const s = parse({argv + 1, argv + argc});
        if (s.herd)
            return count_herds();
        if (s.gallery)
            return gallery::exhibit_all({s.first, s.seeds, s.jobs, s.only_algorithm, s.until_caught});
        if (!s.list)
            return player(s).run();
        for (auto& p : profiles())
            fmt::print("{:<12}{}; two holders: {}\n", p.name, p.about, p.exclusive ? "never" : "not excluded");
        return 0;
    } catch (redlock::cli::early_exit const& e) {
        return e.tell();
    }
}
