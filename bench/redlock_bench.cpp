// How fast the library is, as a ratio to what the same commands cost at the least, measured in the same run.

#include "allocations.hpp"
#include "floor.hpp"
#include "testbed/local_server.hpp"

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/deferred.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using redlock::testbed::local_server;

struct settings {
    std::size_t nodes = 5;
    std::size_t clients = 256;
    std::size_t rounds = 5;
    std::chrono::milliseconds duration{1500};
    std::optional<int> pin;
    std::string server = redlock::testbed::server_program();
};

constexpr char usage[] =
    R"(usage: redlock_bench [OPTION]…

Locks and unlocks distinct keys on local Redis servers, which it starts itself. Measured in turn, round by round:
the floor, a raw client that sends the same commands and counts the replies; the library; and the library with one
of the servers stopped.

  --nodes N      servers, 1 to 9 (5)
  --clients N    coroutines, 1 to 10000 (256)
  --rounds N     1 to 100 (5); the medians are shown
  --duration MS  of each measurement, 100 to 60000 (1500)
  --pin CPU      run everything on this processor: the steadiest ratios
  --server NAME  the server program (redis-server, or $REDLOCK_SERVER)
)";

struct figures {
    double cycles_per_second = 0;
    double cpu_us_per_cycle = 0;
    double allocations_per_cycle = 0;
};

double cpu_seconds()
{
    rusage u{};
    ::getrusage(RUSAGE_SELF, &u);
    auto const seconds = [](timeval t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
    return seconds(u.ru_utime) + seconds(u.ru_stime);
}

template <class F>
figures measure(F run)
{
    auto const cpu = cpu_seconds();
    auto const allocations = redlock::bench::allocations();
    auto const begin = std::chrono::steady_clock::now();
    auto const cycles = static_cast<double>(run());
    auto const wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return {cycles / wall, (cpu_seconds() - cpu) / cycles * 1e6,
            static_cast<double>(redlock::bench::allocations() - allocations) / cycles};
}

/// Locks and unlocks over and over until told to stop.
class load {
public:
    load(std::vector<std::string> nodes, std::size_t clients)
        : locks_(context_, {.nodes = std::move(nodes)}), clients_(clients)
    {
    }

    ~load()
    {
        bool done = false;
        locks_.async_shutdown([&](redlock::error_code) { done = true; });
        while (!done)
            context_.run_one();
    }

    /// @return the number of cycles in @p duration
    std::size_t run(std::chrono::milliseconds duration)
    {
        cycles_ = failures_ = 0;
        stop_ = false;
        running_ = clients_;
        for (std::size_t i = 0; i < clients_; ++i)
            asio::co_spawn(context_, client(i), asio::detached);
        asio::steady_timer timer(context_, duration);
        timer.async_wait([&](redlock::error_code) { stop_ = true; });
        while (running_ > 0)
            context_.run_one();
        return cycles_;
    }

    std::size_t failures() const { return failures_; }

private:
    asio::awaitable<void> client(std::size_t number)
    {
        auto const resource = fmt::format("bench:{}", number);
        while (!stop_) {
            auto [ec, lock] = co_await locks_.async_acquire(resource, {.ttl = 10s}, asio::as_tuple(asio::deferred));
            if (!ec)
                std::tie(ec) = co_await lock.async_release(asio::as_tuple(asio::deferred));
            ++(ec ? failures_ : cycles_);
        }
        --running_;
    }

    asio::io_context context_{1};
    redlock::lock_manager locks_;
    std::size_t const clients_;
    std::size_t running_ = 0;
    std::size_t cycles_ = 0;
    std::size_t failures_ = 0;
    bool stop_ = false;
};

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    auto const middle = values.size() / 2;
    return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void pin_to(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0)
        throw std::runtime_error(fmt::format("--pin {}: there is no such processor, or it may not be used", cpu));
}

int bench(settings const& s)
{
    if (s.pin)
        pin_to(*s.pin);  // the servers inherit it
    std::vector<std::unique_ptr<local_server>> servers;
    std::vector<std::string> urls;
    std::vector<std::uint16_t> ports;
    for (std::size_t i = 0; i < s.nodes; ++i) {
        servers.push_back(std::make_unique<local_server>(std::vector<std::string>{}, s.server));
        urls.push_back(servers.back()->url());
        ports.push_back(servers.back()->port());
    }

    load work(urls, s.clients);
    work.run(200ms);  // connects, and warms up
    bool const can_stall = s.nodes >= 3;
    std::vector<double> floor_rate, floor_cpu, floor_allocations, rate, cpu, allocations, ratio, stalled_ratio;
    std::size_t failures = 0;
    for (std::size_t round = 0; round < s.rounds; ++round) {
        fmt::print(stderr, "\rround {} of {} ", round + 1, s.rounds);
        auto const floor = measure([&] { return redlock::bench::run_floor(ports, s.clients, s.duration); });
        auto const healthy = measure([&] { return work.run(s.duration); });
        failures += work.failures();
        floor_rate.push_back(floor.cycles_per_second);
        floor_cpu.push_back(floor.cpu_us_per_cycle);
        floor_allocations.push_back(floor.allocations_per_cycle);
        allocations.push_back(healthy.allocations_per_cycle);
        rate.push_back(healthy.cycles_per_second);
        cpu.push_back(healthy.cpu_us_per_cycle);
        ratio.push_back(healthy.cycles_per_second / floor.cycles_per_second);
        if (!can_stall)
            continue;
        servers.back()->pause();
        auto const stalled = measure([&] { return work.run(s.duration); });
        failures += work.failures();
        servers.back()->resume();
        stalled_ratio.push_back(stalled.cycles_per_second / healthy.cycles_per_second);
        work.run(300ms);  // let the server catch up
    }
    fmt::print(stderr, "\r                    \r");

    fmt::print("{} nodes, {} clients, {} rounds of {} ms{}, medians\n\n", s.nodes, s.clients, s.rounds, s.duration.count(),
               s.pin ? fmt::format(", all on processor {}", *s.pin) : std::string());
    fmt::print("{:<26}{:>12}{:>20}{:>20}\n", "", "cycles/s", "client CPU/cycle", "allocations/cycle");
    fmt::print("{:<26}{:>12.0f}{:>17.1f} us{:>20.1f}\n", "floor", median(floor_rate), median(floor_cpu),
               median(floor_allocations));
    fmt::print("{:<26}{:>12.0f}{:>17.1f} us{:>20.1f}\n\n", "redlock", median(rate), median(cpu), median(allocations));
    fmt::print("{:<26}{:>12.2f}\n", "redlock / floor", median(ratio));
    if (can_stall)
        fmt::print("{:<26}{:>12.2f}\n", "one node stopped / healthy", median(stalled_ratio));
    fmt::print("{:<26}{:>12}\n", "failures", failures);
    return 0;
}

std::optional<long> number(std::string_view text, long low, long high)
{
    long value = 0;
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc() || end != text.data() + text.size() || value < low || value > high)
        return std::nullopt;
    return value;
}

std::optional<settings> parse(std::vector<std::string_view> const& arguments)
{
    settings s;
    for (std::size_t i = 0; i < arguments.size(); i += 2) {
        auto const option = arguments[i];
        auto const value = i + 1 < arguments.size() ? arguments[i + 1] : std::string_view();
        auto const take = [&](auto& into, long low, long high) {
            auto const n = number(value, low, high);
            if (n)
                into = static_cast<std::decay_t<decltype(into)>>(*n);
            else
                fmt::print(stderr, "redlock_bench: {} is \"{}\", but must be {} to {}\n", option, value, low, high);
            return n.has_value();
        };
        long duration = 0;
        int cpu = 0;
        bool ok = true;
        if (option == "--nodes")
            ok = take(s.nodes, 1, 9);
        else if (option == "--clients")
            ok = take(s.clients, 1, 10'000);
        else if (option == "--rounds")
            ok = take(s.rounds, 1, 100);
        else if (option == "--duration" && (ok = take(duration, 100, 60'000)))
            s.duration = std::chrono::milliseconds(duration);
        else if (option == "--pin" && (ok = take(cpu, 0, CPU_SETSIZE - 1)))
            s.pin = cpu;
        else if (option == "--server" && !value.empty())
            s.server = value;
        else if (ok) {
            fmt::print(stderr, "redlock_bench: unknown option \"{}\"\n\n{}", option, usage);
            ok = false;
        }
        if (!ok)
            return std::nullopt;
    }
    return s;
}

}  // namespace

int main(int argc, char** argv)
{
    std::vector<std::string_view> const arguments(argv + 1, argv + argc);
    if (std::find(arguments.begin(), arguments.end(), "--help") != arguments.end()) {
        fmt::print("{}", usage);
        return 0;
    }
    auto const s = parse(arguments);
    if (!s)
        return 2;
    try {
        return bench(*s);
    } catch (std::exception const& e) {
        fmt::print(stderr, "redlock_bench: {}\n", e.what());
        return 1;
    }
}
