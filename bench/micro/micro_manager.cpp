// Measures the cost of single operations of a manager without a network.

#include "micro/micro.hpp"

#include <redlock.hpp>
#include <redlock/prometheus.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using benchmark::State;

constexpr auto tuple = asio::as_tuple(asio::deferred);

/// A manager with nodes in this process. The cost of an operation includes the nodes, but no network.
struct world {
    explicit world(State& s, redlock::manager_options c = {}) : state(s), settings(std::move(c))
    {
        for (std::int64_t i = 0; i < s.range(0); ++i) {
            auto const name = "micro" + std::to_string(i);
            nodes.push_back(redlock::memory_server::at(name));
            settings.nodes.push_back("memory://" + name);
        }
        locks = std::make_unique<redlock::lock_manager>(context, settings);
    }

    /// Runs the coroutine @p user, and the background work that it starts, to the end.
    template <class User>
    void run(User user)
    {
        asio::co_spawn(context, user(), [this](std::exception_ptr failure) {
            if (failure)
                state.SkipWithError("an exception");
            locks.reset();
        });
        context.run();
        for (auto const& n : nodes) {
            if (n->size() != left_behind)
                state.SkipWithError("a node has an unexpected number of keys");
        }
    }

    State& state;
    asio::io_context context{1};
    redlock::manager_options settings;
    std::vector<std::shared_ptr<redlock::memory_server>> nodes;
    std::unique_ptr<redlock::lock_manager> locks;
    std::size_t left_behind = 0;  ///< expected keys on each node
};

/// Repeats the coroutine @p work, which returns whether its result is right.
template <class Work>
asio::awaitable<void> repeat_async(world& w, Work work)
{
    if (!co_await work())  // the first one connects
        w.state.SkipWithError("a wrong result");
    auto const before = redlock::bench::allocations();
    while (w.state.KeepRunning()) {
        if (!co_await work()) {
            w.state.SkipWithError("a wrong result");
            break;
        }
    }
    redlock::bench::count_allocations_since(before, w.state);
}

void acquire_and_release_in(world& w, redlock::acquire_options options)
{
    w.run([&]() -> asio::awaitable<void> {
        co_await repeat_async(w, [&]() -> asio::awaitable<bool> {
            auto [failed, lock] = co_await w.locks->async_acquire("stock", options, tuple);
            bool const held = !failed && lock.held();
            auto [not_released] = co_await lock.async_release(tuple);
            co_return held && !not_released && !lock.held();
        });
    });
}

void acquire_and_release(State& state)
{
    world w(state);
    acquire_and_release_in(w, {});
}

void acquire_and_release_grouped(State& state)
{
    world w(state);
    acquire_and_release_in(w, {.group = "checkout"});
}

/// With an observer that does nothing.
void acquire_and_release_observed(State& state)
{
    world w(state, {.observer = std::make_shared<redlock::observer>()});
    acquire_and_release_in(w, {});
}

/// A scrape by Prometheus while locks are held; the second argument is their number.
void scrape(State& state)
{
    world w(state);
    auto const count = static_cast<std::size_t>(state.range(1));
    w.run([&]() -> asio::awaitable<void> {
        std::vector<redlock::lock> held;
        for (std::size_t i = 0; i < count; ++i) {
            auto [failed, lock] = co_await w.locks->async_acquire("item:" + std::to_string(i), {.ttl = 60s}, tuple);
            held.push_back(std::move(lock));
        }
        std::string text;
        for (auto _ : state) {
            text = prometheus_text(w.locks->stats());
            benchmark::DoNotOptimize(text.data());
        }
        state.counters["bytes"] = static_cast<double>(text.size());
        for (auto& lock : held)
            co_await lock.async_release(tuple);
    });
}

void extend(State& state)
{
    world w(state);
    w.run([&]() -> asio::awaitable<void> {
        auto [failed, lock] = co_await w.locks->async_acquire("stock", {}, tuple);
        co_await repeat_async(w, [&]() -> asio::awaitable<bool> {
            auto const before = lock.valid_until();
            auto [not_extended] = co_await lock.async_extend(10s, tuple);
            co_return !not_extended && lock.valid_until() > before;
        });
        co_await lock.async_release(tuple);
    });
}

void acquire_denied(State& state)
{
    world w(state);
    for (auto const& n : w.nodes)
        n->set("lock:stock", "a token of somebody else", 0ms);
    w.left_behind = 1;
    w.run([&]() -> asio::awaitable<void> {
        co_await repeat_async(w, [&]() -> asio::awaitable<bool> {
            auto [failed, lock] = co_await w.locks->async_acquire("stock", {}, tuple);
            co_return failed == redlock::errc::contended;
        });
    });
}

void inspect(State& state)
{
    world w(state);
    w.run([&]() -> asio::awaitable<void> {
        auto [failed, lock] = co_await w.locks->async_acquire("stock", {.ttl = 60s}, tuple);
        co_await repeat_async(w, [&]() -> asio::awaitable<bool> {
            auto [unknown, info] = co_await w.locks->async_inspect("stock", tuple);
            co_return !unknown && info.locked;
        });
        co_await lock.async_release(tuple);
    });
}

BENCHMARK(acquire_and_release)->Arg(1)->Arg(3)->Arg(5);
BENCHMARK(acquire_and_release_grouped)->Arg(3);
BENCHMARK(acquire_and_release_observed)->Arg(3);
BENCHMARK(scrape)->Args({3, 0})->Args({3, 10'000})->Unit(benchmark::kMicrosecond);
BENCHMARK(extend)->Arg(1)->Arg(3)->Arg(5);
BENCHMARK(acquire_denied)->Arg(1)->Arg(3)->Arg(5);
BENCHMARK(inspect)->Arg(1)->Arg(3)->Arg(5);

}  // namespace
