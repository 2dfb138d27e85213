#include "scenarios.hpp"

#include "laboratory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace redlock::bench {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct fault {
    std::string scenario;
    std::string began, ended;  // for the timeline
    void (testbed::local_server::*begin)();
    void (testbed::local_server::*end)();
    bool keeps_counters;  ///< the server's counters survive the fault
};

// Cycles per second in the slices from @p from to @p to, without the first slice, which contains the change.
std::vector<double> rates(sample const& s, milliseconds from, milliseconds to)
{
    std::vector<double> rates;
    for (auto i = from / sample::slice + 1; i < to / sample::slice; ++i)
        rates.push_back(static_cast<double>(s.slices[static_cast<std::size_t>(i)])
                        / std::chrono::duration<double>(sample::slice).count());
    return rates;
}

double mean(std::vector<double> const& v)
{
    return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

// The lowest mean of four consecutive slices: a single slow slice does not count.
double lowest_of_four(std::vector<double> const& v)
{
    double lowest = mean(v);
    for (std::size_t i = 0; i + 4 <= v.size(); ++i)
        lowest = std::min(lowest, (v[i] + v[i + 1] + v[i + 2] + v[i + 3]) / 4);
    return lowest;
}

// Measures the library before, during and after the fault. The floor runs without a fault.
void measure(laboratory& lab, load& l, fault const& f, std::size_t clients, round& r, timeline& time)
{
    auto& server = *lab.servers().own(lab.servers().size() - 1);
    auto const third = lab.settings().duration;
    auto const victim = lab.servers().size() - 1;
    auto const votes = [&] { return l.stats().nodes[victim].granted; };
    std::uint64_t votes_at_return = 0;
    std::chrono::steady_clock::time_point returned, voted{};
    work w{.clients = clients, .duration = 3 * third, .rate = lab.settings().rate};
    w.events.emplace_back(third, [&] {
        (server.*f.begin)();
        return false;
    });
    w.events.emplace_back(2 * third, [&] {
        votes_at_return = votes();
        (server.*f.end)();
        returned = std::chrono::steady_clock::now();
        return false;
    });
    // Late votes from before the fault do not count. This waits for a vote of a round that began after the return.
    w.events.emplace_back(2 * third + 1ms, [&] {
        if (votes() == votes_at_return)
            return true;
        voted = std::chrono::steady_clock::now();
        return false;
    });
    r.library = f.keeps_counters ? lab.observe([&] { return l.run(w); }) : l.run(w);

    auto const healthy = mean(rates(r.library, 0ms, third));
    auto const faulted = mean(rates(r.library, third, 2 * third));
    auto const after = rates(r.library, 2 * third, 3 * third);
    bool const back = voted != std::chrono::steady_clock::time_point{};
    r.more["healthy_cycles_per_second"] = healthy;
    r.more["faulted_to_healthy"] = healthy > 0 ? faulted / healthy : 0;
    r.more["after_return_to_healthy"] = healthy > 0 ? mean(after) / healthy : 0;
    r.more["lowest_200_ms_after_return_to_healthy"] = healthy > 0 ? lowest_of_four(after) / healthy : 0;
    r.more["longest_acquire_ms"] = std::chrono::duration<double, std::milli>(l.longest_after_event()).count();
    r.more["votes_again_after_ms"] = back ? std::chrono::duration<double, std::milli>(voted - returned).count() : -1;

    time = {std::chrono::duration<double>(sample::slice).count(),
            rates(r.library, -sample::slice, 3 * third),
            {{std::chrono::duration<double>(third).count(), f.began},
             {std::chrono::duration<double>(2 * third).count(), f.ended}}};
}

std::vector<result> with_fault(fault const& f, options const& o, progress const& p)
{
    need_own_servers(o, f.scenario, "it stops or kills a server");
    if (o.count < 3)
        throw std::runtime_error(fmt::format(
            "{}: --count is {}, but with fewer than 3 nodes there is no lock while one is away", f.scenario, o.count));
    laboratory lab(o, p, o.count);
    auto const clients = o.clients > 0 ? o.clients : 256;
    load l(lab.servers().urls());
    l.run({.clients = clients, .duration = 200ms});
    timeline time;
    auto const rounds = lab.rounds(
        fmt::format("{}, {} clients", f.scenario, clients),
        [&] {
            return run_floor(lab.servers().addresses(), {.clients = clients, .duration = o.duration, .rate = o.rate});
        },
        [&](round& r) {
            measure(lab, l, f, clients, r, time);
            l.run({.clients = clients, .duration = 300ms});  // before the next round, all nodes vote again
        });
    auto r = lab.conclude(rounds, f.scenario, {}, clients);
    r.time = time;
    if (!f.keeps_counters) {
        constexpr auto unknown = std::numeric_limits<double>::quiet_NaN();
        r.commands_per_cycle = r.writes_per_cycle = unknown;
        r.server_cpu_us_per_cycle.reset();
    }
    return {r};
}

}  // namespace

std::vector<result> stalled(options const& o, progress const& p)
{
    using testbed::local_server;
    return with_fault({"stalled", "one node stopped", "it goes on", &local_server::pause, &local_server::resume, true},
                      o, p);
}

std::vector<result> killed(options const& o, progress const& p)
{
    using testbed::local_server;
    return with_fault(
        {"killed", "one node killed", "it is started again", &local_server::kill, &local_server::launch, false}, o, p);
}

}  // namespace redlock::bench
