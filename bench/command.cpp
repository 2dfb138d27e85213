#include "scenarios.hpp"

#include "interrupt.hpp"
#include "laboratory.hpp"
#include "programs.hpp"
#include "bed/process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <string>

namespace redlock::bench {

namespace {

using steady = std::chrono::steady_clock;
using words = std::vector<std::string>;

void run(words const& what, std::vector<std::string> const& environment)
{
    auto const ended = testbed::process(what, {.environment = environment, .output = "/dev/null"}).wait();
    if (ended.code() != 0)
        throw std::runtime_error(fmt::format("{} {}", what.front(), ended.in_words()));
}

sample run_again_and_again(std::chrono::milliseconds duration, std::vector<words> const& commands,
                           std::vector<std::string> const& environment)
{
    sample s;
    auto const begun = steady::now();
    while (steady::now() < begun + duration) {
        throw_if_interrupted();
        auto const started = steady::now();
        for (auto const& c : commands)
            run(c, environment);
        s.cycle.record(steady::now() - started);
        ++s.cycles;
    }
    s.seconds = std::chrono::duration<double>(steady::now() - begun).count();
    return s;
}

}  // namespace

std::vector<result> command_under_lock(options const& o, progress const& p)
{
    need_own_servers(o, "command");
    laboratory lab(o, p, o.count);
    std::vector<words> pings;
    for (std::size_t i = 0; i < lab.servers().size(); ++i)
        pings.push_back({"redis-cli", "-p", std::to_string(lab.servers().own(i)->port()), "PING"});
    std::vector<words> const command{
        {program_of_ours("redlock", "src/tools/redlock", "build the target redlock_tool, or install it"), "run",
         "--restart-guard", "automatic", "bench:command", "true"}};
    auto const nodes = std::vector{fmt::format("REDLOCK_URLS={}", fmt::join(lab.servers().urls(), ","))};
    auto const rounds = lab.rounds(
        "command", [&] { return run_again_and_again(o.duration, pings, {}); },
        [&](round& r) {
            r.library = run_again_and_again(o.duration, command, nodes);
            r.more["time_to_pings"] = r.library.rate() > 0 ? r.floor.rate() / r.library.rate() : 0;
        });
    return {lab.conclude(rounds, "command", "floor: redis-cli PING to each node", 1)};
}

}  // namespace redlock::bench
