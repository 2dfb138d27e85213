#include "processor.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sched.h>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

namespace redlock::bench {

void pin_to(std::vector<int> const& processors)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int p : processors)
        CPU_SET(static_cast<unsigned>(p), &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0 || processors_in_use() != processors)
        throw std::runtime_error(
            fmt::format("--pin {}: there is no such processor, or it may not be used; this machine has 0 to {}",
                        fmt::join(processors, ","), std::thread::hardware_concurrency() - 1));
}

std::vector<int> processors_in_use()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    ::sched_getaffinity(0, sizeof set, &set);
    std::vector<int> processors;
    for (int p = 0; p < CPU_SETSIZE; ++p) {
        if (CPU_ISSET(static_cast<unsigned>(p), &set))
            processors.push_back(p);
    }
    return processors;
}

double own_cpu_seconds()
{
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double cpu_seconds_of(pid_t pid)
{
    clockid_t clock{};
    timespec t{};
    if (pid <= 0 || ::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &t) != 0)
        return 0;
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double cpu_seconds_of_family(pid_t pid)
{
    double seconds = cpu_seconds_of(pid);
    std::ifstream children(fmt::format("/proc/{}/task/{}/children", pid, pid));
    for (pid_t child = 0; children >> child;)
        seconds += cpu_seconds_of(child);
    return seconds;
}

double cpu_seconds_of_the_dead()
{
    rusage u{};
    ::getrusage(RUSAGE_CHILDREN, &u);
    auto const seconds = [](timeval t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(u.ru_utime) + seconds(u.ru_stime);
}

double anonymous_bytes_of(pid_t pid)
{
    std::ifstream status(fmt::format("/proc/{}/status", pid));
    double kib = 0;
    for (std::string word; status >> word && word != "RssAnon:";) {
    }
    status >> kib;
    return kib * 1024;
}

double busy_seconds(std::vector<int> const& processors)
{
    std::ifstream file("/proc/stat");
    double ticks = 0;
    for (std::string line; std::getline(file, line);) {
        int number = 0;
        // user nice system idle iowait irq softirq steal
        unsigned long long t[8] = {};
        if (std::sscanf(line.c_str(), "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &number, &t[0], &t[1], &t[2],
                        &t[3], &t[4], &t[5], &t[6], &t[7])
                != 9
            || std::find(processors.begin(), processors.end(), number) == processors.end())
            continue;
        ticks += static_cast<double>(t[0] + t[1] + t[2] + t[5] + t[6] + t[7]);
    }
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::map<std::string, std::string> describe_machine()
{
    std::map<std::string, std::string> m;
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos) {
            m["processor"] = line.substr(line.find(": ") + 2);
            break;
        }
    }
    utsname u{};
    ::uname(&u);
    m["cores"] = std::to_string(std::thread::hardware_concurrency());
    m["kernel"] = fmt::format("{} {}", u.sysname, u.release);
    m["compiler"] =
#ifdef __clang__
        "clang " __clang_version__;
#else
        "g++ " __VERSION__;
#endif
#ifndef NDEBUG
    m["compiler"] += ", with assertions: not for timing";
#endif
    m["date"] = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)));
    return m;
}

}  // namespace redlock::bench
