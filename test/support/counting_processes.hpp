#pragma once

#include "support/long_proof.hpp"
#include "bed/process.hpp"

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace redlock::test {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds counting_ttl = 500ms;

/// The data that the processes share.
struct shared_counter {
    std::atomic<int> inside{0};
    std::atomic<long> entered{0}, newly_entered{0}, met{0};
    std::atomic<std::uint64_t> last_token{0}, old_tokens{0};
    std::atomic<bool> over{false};
    long plain = 0;  // not atomic: without the lock, two processes would write the same number
};

class shared_memory {
public:
    shared_memory()
        : counter_(new(::mmap(nullptr, sizeof(shared_counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                              0)) shared_counter)
    {
    }
    ~shared_memory() { ::munmap(counter_, sizeof(shared_counter)); }
    shared_counter* operator->() { return counter_; }
    shared_counter& operator*() { return *counter_; }

private:
    shared_counter* const counter_;
};

/// The life of a manager in a process of newcomers.
struct newcomer_life {
    std::chrono::milliseconds time = 150ms;
    /// True: the manager shuts down. False: its context is destroyed, and its locks stay until the session ends.
    bool ends_session = false;
};

/// Increments the counter under the lock until `over`, or until @p end.
inline asio::awaitable<void> count(lock_manager& locks, shared_counter& c,
                                   clock::time_point end = clock::time_point::max(), bool farewell = true)
{
    asio::steady_timer pause(co_await asio::this_coro::executor);
    while (!c.over && clock::now() < end) {
        auto [ec, held] = co_await locks.async_acquire("counter", {.ttl = counting_ttl, .wait = 1s},
                                                       asio::as_tuple(asio::use_awaitable));
        if (ec)
            continue;
        c.met += c.inside.exchange(::getpid()) != 0;
        c.old_tokens += held.fencing_token() <= c.last_token.exchange(held.fencing_token());
        auto const read = c.plain;
        pause.expires_after(1ms);
        co_await pause.async_wait(asio::use_awaitable);
        c.plain = read + 1;
        c.inside = 0;
        ++c.entered;
        c.newly_entered += end != clock::time_point::max();
        co_await held.async_release(asio::as_tuple(asio::use_awaitable));
    }
    if (farewell)
        co_await locks.async_shutdown(asio::as_tuple(asio::use_awaitable));
}

inline int count_in_process(manager_options const& settings, shared_counter& c)
{
    asio::io_context context;
    lock_manager locks(context, settings);
    asio::co_spawn(context, count(locks, c), asio::detached);
    context.run();
    return 0;
}

/// Runs one manager after the other, so that some start in the middle of a fault.
inline int count_as_newcomers(manager_options const& settings, shared_counter& c, newcomer_life const& life)
{
    while (!c.over) {
        asio::io_context context;
        lock_manager locks(context, settings);
        asio::co_spawn(context, count(locks, c, clock::now() + life.time, life.ends_session),
                       [&](std::exception_ptr const&) { context.stop(); });
        context.run();
    }
    return 0;
}

/// A function that returns when the processes have counted on.
using counting_on = std::function<void()>;

/// Four processes and @p newcomers count under one lock during and after @p faults. The test fails if two processes
/// hold the lock at once, or if a token is not above the last one.
inline void count_in_turn(manager_options settings, std::function<void(counting_on const&)> const& faults,
                          int newcomers = 0, newcomer_life const& life = {})
{
    settings.fencing = true;
    settings.node_timeout = 200ms;
    settings.max_ttl = 2s;
    shared_memory c;
    {
        std::vector<testbed::process> workers;
        for (int i = 0; i < 4; ++i)
            workers.emplace_back([&] { return count_in_process(settings, *c); });
        for (int i = 0; i < newcomers; ++i)
            workers.emplace_back([&] { return count_as_newcomers(settings, *c, life); });
        auto const some_more = [&] {
            auto const before = c->entered.load();
            for (auto const end = clock::now() + 60s; c->entered < before + 20 && clock::now() < end;)
                std::this_thread::sleep_for(5ms);
            BOOST_TEST(c->entered >= before + 20);
        };
        for (int i = 0; i < pick(2, 4); ++i) {
            some_more();
            faults(some_more);
        }
        some_more();
        c->over = true;
        for (auto& w : workers)
            BOOST_TEST(w.wait().code() == 0);
    }
    BOOST_TEST((c->newly_entered > 0 || newcomers == 0));
    BOOST_TEST(c->met == 0);
    BOOST_TEST(c->plain == c->entered.load());
    BOOST_TEST(c->old_tokens == 0u);
}

/// Stops the server for longer than @p life, the time that its locks last.
template <class Server>
void stop_for_longer_than(std::chrono::milliseconds life, Server& s)
{
    s.pause();
    std::this_thread::sleep_for(life + 200ms);
    s.resume();
}

/// Stops the leader of a cluster for longer than a session lasts. Meanwhile the other members serve locks.
template <class Cluster>
void stop_leader(Cluster& cluster, counting_on const& some_more, std::chrono::milliseconds session)
{
    auto& leader = cluster.leader();
    auto const until = clock::now() + session + 200ms;
    leader.pause();
    some_more();
    std::this_thread::sleep_until(until);
    leader.resume();
}

/// Kills a server and starts it again. When it has granted locks, it is stopped for longer than @p life.
template <class Server>
void disturb(Server& s, counting_on const& some_more, std::chrono::milliseconds life = counting_ttl)
{
    s.kill();
    s.start();
    some_more();
    stop_for_longer_than(life, s);
}

}  // namespace redlock::test
