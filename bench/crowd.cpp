#include "crowd.hpp"

#include "interrupt.hpp"
#include "bed/process.hpp"

#include <boost/interprocess/anonymous_shared_memory.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace redlock::bench {

namespace {

// The counters of one process, in shared memory.
struct part {
    std::uint64_t cycles, violations, failed, rounds;
    double cpu_seconds;
    histogram acquire, cycle, wait;
};

struct shared_results {
    std::atomic<std::size_t> ready{0};
    std::atomic<int> inside{0};
    part parts[64]{};
};

void measure(manager_options const& settings, work w, std::size_t processes, shared_results& all, part& mine)
{
    load l(settings);
    l.run({.clients = 1, .duration = std::chrono::milliseconds(100)});  // connects to the nodes
    ++all.ready;
    while (all.ready < processes) {
        throw_if_interrupted();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    auto const before = l.stats().rounds;
    w.inside = &all.inside;
    auto const s = l.run(w);
    mine = {.cycles = s.cycles,
            .violations = s.violations,
            .failed = 0,
            .rounds = l.stats().rounds - before,
            .cpu_seconds = s.client_cpu_seconds,
            .acquire = s.acquire,
            .cycle = s.cycle,
            .wait = s.wait};
    for (auto const& [what, count] : s.failures)
        mine.failed += count;
}

void wait_for(std::vector<testbed::process>& children)
{
    bool good = true;
    for (auto& child : children)
        good = child.wait().status == 0 && good;
    throw_if_interrupted();
    if (!good)
        throw std::runtime_error("a process of the crowd failed");
}

}  // namespace

sample run_crowd(manager_options const& settings, work w, std::size_t processes, std::map<std::string, double>& more)
{
    auto const memory = boost::interprocess::anonymous_shared_memory(sizeof(shared_results));
    auto& all = *new (memory.get_address()) shared_results;
    w.clients /= processes;
    std::vector<testbed::process> children;
    for (std::size_t i = 0; i < processes; ++i) {
        auto const work = [&, i] {
            measure(settings, w, processes, all, all.parts[i]);
            return 0;
        };
        children.emplace_back(work, testbed::process_options{.when_alone = SIGTERM,
                                                             .is_over = was_interrupted,
                                                             .name = "redlock_bench: in a process of the crowd"});
    }
    wait_for(children);

    sample sum;
    std::uint64_t rounds = 0, least = ~std::uint64_t(0), most = 0;
    for (std::size_t i = 0; i < processes; ++i) {
        auto const& p = all.parts[i];
        sum.cycles += p.cycles;
        sum.violations += p.violations;
        sum.client_cpu_seconds += p.cpu_seconds;
        sum.acquire.add(p.acquire);
        sum.cycle.add(p.cycle);
        sum.wait.add(p.wait);
        if (p.failed > 0)
            sum.failures["acquisitions and releases that failed"] += p.failed;
        rounds += p.rounds;
        least = std::min(least, p.cycles);
        most = std::max(most, p.cycles);
    }
    sum.seconds = std::chrono::duration<double>(w.duration).count();
    more["smallest_share_percent"] = sum.each(100.0 * static_cast<double>(least));
    more["largest_share_percent"] = sum.each(100.0 * static_cast<double>(most));
    more["rounds_per_lock"] = sum.each(static_cast<double>(rounds));
    return sum;
}

}  // namespace redlock::bench
