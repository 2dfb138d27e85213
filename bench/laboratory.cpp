#include "laboratory.hpp"

#include "interrupt.hpp"
#include "processor.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace redlock::bench {

namespace {

// Share of the time of all processors together. The system counts it in steps of 10 ms.
constexpr double tolerated_share = 0.05;
constexpr int attempts_max = 3;

}  // namespace

void need_own_servers(options const& o, std::string const& scenario, std::string const& why)
{
    if (!o.nodes.empty())
        throw std::runtime_error(
            fmt::format("{}: needs servers of its own, without --nodes, --nodes-file and REDLOCK_NODES{}{}", scenario,
                        why.empty() ? "" : ": ", why));
}

laboratory::laboratory(options const& o, progress p, std::size_t count)
    : options_(o),
      progress_(std::move(p)),
      servers_(o.nodes.empty() ? fleet(count, o.server) : fleet(o.nodes)),
      processors_(processors_in_use())
{
}

double laboratory::our_cpu_seconds() const
{
    double seconds = own_cpu_seconds() + cpu_seconds_of_the_dead();
    for (auto const helper : helpers_)
        seconds += cpu_seconds_of_family(helper);
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        if (auto const* server = servers_.own(i))
            seconds += cpu_seconds_of(server->pid());
    }
    return seconds;
}

sample laboratory::observe(std::function<sample()> const& runs)
{
    auto const before = servers_.count();
    auto s = runs();
    auto const after = servers_.count();
    s.commands = after.commands - before.commands;
    s.writes = after.reads - before.reads;
    s.server_cpu_seconds = after.cpu_seconds - before.cpu_seconds;
    return s;
}

std::vector<round> laboratory::rounds(std::string const& what, std::function<sample()> const& floor,
                                      std::function<void(round&)> const& library)
{
    std::vector<round> done;
    for (int attempt = 1; done.size() < options_.rounds; ++attempt) {
        throw_if_interrupted();
        progress_(fmt::format("{}: round {} of {}{}", what, done.size() + 1, options_.rounds,
                              attempt > 1 ? ", again: other processes took the processor" : ""));
        auto const busy = busy_seconds(processors_);
        auto const ours = our_cpu_seconds();
        auto const begin = std::chrono::steady_clock::now();
        round r;
        if (floor)
            r.floor = floor();
        library(r);
        auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        auto const others = busy_seconds(processors_) - busy - (our_cpu_seconds() - ours);
        r.disturbed = options_.nodes.empty()
                      && others > tolerated_share * seconds * static_cast<double>(processors_.size());
        if (r.disturbed && attempt < attempts_max)
            continue;
        done.push_back(std::move(r));
        attempt = 0;
    }
    return done;
}

result laboratory::conclude(std::vector<round> const& rounds, std::string scenario, std::string variant,
                            std::size_t clients, bool has_floor) const
{
    auto r = summarise(rounds, has_floor);
    r.scenario = std::move(scenario);
    r.variant = std::move(variant);
    r.nodes = servers_.size();
    r.clients = clients;
    return r;
}

}  // namespace redlock::bench
