// Measures the cost of single decisions.

#include "micro/micro.hpp"

#include "core/backoff.hpp"
#include "core/key.hpp"
#include "core/quorum.hpp"
#include "core/schedule.hpp"
#include "core/validity.hpp"
#include "locks/check.hpp"
#include "net/url.hpp"
#include "stores/redis/decoder.hpp"

#include <redlock/clock.hpp>
#include <redlock/manager_options.hpp>
#include <redlock/options.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

namespace core = redlock::core;
namespace redis = redlock::stores::redis;
using namespace std::chrono_literals;
using benchmark::DoNotOptimize;
using benchmark::State;
using redlock::clock;

/// Repeats @p work, which returns whether its result is right.
template <class Work>
void repeat(State& state, Work work)
{
    auto const before = redlock::bench::allocations();
    for ([[maybe_unused]] auto _ : state) {
        if (!work()) {
            state.SkipWithError("a wrong result");
            break;
        }
    }
    redlock::bench::count_allocations_since(before, state);
}

/// Hides the value from the optimizer.
template <class T>
T unknown(T value)
{
    DoNotOptimize(value);
    return value;
}

void validity(State& state)
{
    auto const started = clock::now();
    repeat(state, [=] {
        auto const ttl = unknown(10'000ms);
        return core::valid_until(started, ttl, 0.01) - core::stop_margin(ttl) == started + 10s - 102ms - 500ms;
    });
}

void tally(State& state)
{
    auto const nodes = static_cast<std::size_t>(state.range(0));
    repeat(state, [=] {
        core::tally votes(unknown(nodes));
        std::size_t asked = 0;
        for (; votes.verdict() == core::verdict::open; ++asked) {
            votes.grant();
            DoNotOptimize(votes);  // otherwise the compiler would compute the result
        }
        return votes.verdict() == core::verdict::won && asked == nodes / 2 + 1;
    });
}

void pause_after(State& state)
{
    std::uint64_t bits = 1;
    repeat(state, [&] {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        auto const pause = core::pause_after(unknown(std::size_t{3}), bits);
        return pause >= 16ms && pause <= 64ms;
    });
}

using alarm = core::alarm<clock::time_point>;

/// A schedule with alarms at random times, an hour from now.
struct crowd {
    explicit crowd(State const& state)
    {
        for (auto i = state.range(0); i > 0; --i) {
            alarms.push_back(std::make_unique<alarm>([] {}));
            schedule.set(*alarms.back(), some_time());
        }
    }

    clock::time_point some_time() { return start + 1h + std::chrono::nanoseconds(random() % 1'000'000'000); }

    clock::time_point const start = clock::now();
    std::minstd_rand random{1};
    core::schedule<clock::time_point> schedule;
    std::vector<std::unique_ptr<alarm>> alarms;
};

void schedule_set_and_clear(State& state)
{
    crowd c(state);
    alarm one([] {});
    repeat(state, [&] {
        c.schedule.set(one, c.some_time());
        bool const was_set = one.is_set();
        one.clear();
        return was_set && !one.is_set();
    });
}

void schedule_ring(State& state)
{
    crowd c(state);
    std::size_t rung = 0, wanted = 0;
    alarm one([&] { ++rung; });
    repeat(state, [&] {
        c.schedule.set(one, c.start);
        c.schedule.ring_until(c.start);
        return rung == ++wanted;
    });
}

/// Moves an alarm, as an extension of a lock does.
void schedule_move(State& state)
{
    crowd c(state);
    repeat(state, [&] {
        c.schedule.set(*c.alarms[c.random() % c.alarms.size()], c.some_time());
        return c.schedule.size() == c.alarms.size();
    });
}

void make_token(State& state)
{
    std::uint64_t bits = 0;
    repeat(state, [&] {
        ++bits;
        auto const token = core::make_token(bits, ~bits, {.owner = "host:12345", .since = 1'764'238'452'000});
        DoNotOptimize(token.data());
        return token.size() == 32 + 1 + 10;
    });
}

void check_resource(State& state)
{
    std::string const resource = "warehouse/42/shelf/7";
    repeat(state, [&] { return redlock::locks::check_resource(unknown(resource.c_str()), "lock:").empty(); });
}

void check_options(State& state)
{
    redlock::manager_options const settings;
    repeat(state, [&] {
        redlock::acquire_options options;
        options.ttl = unknown(5'000ms);
        options.renew = redlock::renewal::automatic;
        return redlock::locks::check(options, settings).empty();
    });
}

void parse_url(State& state, char const* text)
{
    repeat(state, [=] { return redlock::net::parse_url(unknown(text)).wrong.empty(); });
}

void decode(State& state, redlock::commands::variant const& what, redlock::stores::redis::reply const& reply)
{
    redlock::node_command asked;
    repeat(state, [&] {
        asked.what = unknown(what);
        return redlock::stores::redis::decode(asked, {&reply, 1}).vote == redlock::vote::granted;
    });
}

void decode_error(State& state)
{
    std::string const text = "ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed";
    repeat(state,
           [&] { return redlock::stores::redis::decode_error(text).error == redlock::errc::node_out_of_memory; });
}

using type = redlock::stores::redis::resp::type;

BENCHMARK(validity);
BENCHMARK(tally)->Arg(1)->Arg(5)->Arg(9);
BENCHMARK(pause_after);
BENCHMARK(schedule_set_and_clear)->Arg(1)->Arg(100)->Arg(10'000);
BENCHMARK(schedule_ring)->Arg(1)->Arg(100)->Arg(10'000);
BENCHMARK(schedule_move)->Arg(1)->Arg(100)->Arg(10'000);
BENCHMARK(make_token);
BENCHMARK(check_resource);
BENCHMARK(check_options);
BENCHMARK_CAPTURE(parse_url, short, "10.0.0.1");
BENCHMARK_CAPTURE(parse_url, long, "rediss://us%40er:p%3Ass@[::1]:7000/3");
BENCHMARK_CAPTURE(decode, acquire, redlock::commands::acquire{},
                  redlock::stores::redis::reply{type::simple_string, "OK", {}});
BENCHMARK_CAPTURE(decode, release, redlock::commands::release{}, redlock::stores::redis::reply{type::number, "1", {}});
BENCHMARK_CAPTURE(decode, inspect, redlock::commands::inspect{},
                  redlock::stores::redis::reply{type::array, "", {std::string(43, 'a'), "9876"}});
BENCHMARK(decode_error);

}  // namespace

BENCHMARK_MAIN();
