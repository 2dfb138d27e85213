#include "crowd.hpp"

#include "interrupt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace redlock::bench {

namespace {

// What one process has counted, in memory that all of them share.
struct part {
    std::uint64_t cycles, violations, failed, rounds;
    double cpu_seconds;
    histogram acquire, cycle, wait;
};

struct shared {
    std::atomic<std::size_t> ready{0};
    std::atomic<int> inside{0};
    part parts[16]{};
};

class shared_memory {
public:
    shared_memory()
        : at_(::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
    {
        if (at_ == MAP_FAILED)
            throw std::runtime_error(fmt::format("cannot share memory: {}", std::strerror(errno)));
        new (at_) shared;
    }
    ~shared_memory() { ::munmap(at_, sizeof(shared)); }
    shared_memory(shared_memory const&) = delete;
    shared_memory& operator=(shared_memory const&) = delete;

    shared* operator->() const { return static_cast<shared*>(at_); }

private:
    void* at_;
};

void measure(std::vector<std::string> const& nodes, std::chrono::milliseconds node_timeout, work w, std::size_t processes,
             shared& all, part& mine)
{
    load l(nodes, node_timeout);
    l.run({.clients = 1, .duration = std::chrono::milliseconds(100)});  // connects
    ++all.ready;
    while (all.ready < processes) {
        throw_if_interrupted();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    auto const before = l.stats().rounds;
    w.inside = &all.inside;
    auto const s = l.run(w);
    mine = {.cycles = s.cycles, .violations = s.violations, .failed = 0, .rounds = l.stats().rounds - before,
            .cpu_seconds = s.client_cpu_seconds, .acquire = s.acquire, .cycle = s.cycle, .wait = s.wait};
    for (auto const& [what, count] : s.failures)
        mine.failed += count;
}

void wait_for(std::vector<pid_t> const& children)
{
    bool good = true;
    for (auto const child : children) {
        int status = 0;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
            if (was_interrupted())
                ::kill(child, SIGTERM);
        }
        good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    throw_if_interrupted();
    if (!good)
        throw std::runtime_error("a process of the crowd failed");
}

}  // namespace

sample run_crowd(std::vector<std::string> const& nodes, std::chrono::milliseconds node_timeout, work w, std::size_t processes,
                 std::map<std::string, double>& more)
{
    shared_memory all;
    auto const parent = ::getpid();
    w.clients /= processes;
    std::vector<pid_t> children;
    for (std::size_t i = 0; i < processes; ++i) {
        auto const child = ::fork();
        if (child < 0)
            throw std::runtime_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
        if (child > 0) {
            children.push_back(child);
            continue;
        }
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        try {
            if (::getppid() == parent)
                measure(nodes, node_timeout, w, processes, *all.operator->(), all->parts[i]);
            ::_exit(0);
        } catch (std::exception const& e) {
            fmt::print(stderr, "redlock_bench: in a process of the crowd: {}\n", e.what());
            ::_exit(1);
        }
    }
    wait_for(children);

    sample sum;
    std::uint64_t rounds = 0, least = ~std::uint64_t(0), most = 0;
    for (std::size_t i = 0; i < processes; ++i) {
        auto const& p = all->parts[i];
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
