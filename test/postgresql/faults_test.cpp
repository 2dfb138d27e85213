// Processes that take one lock in turn while the database is killed, stopped, and started again.

#include "support/postgres.hpp"
#include "support/real_servers.hpp"
#include "testbed/process.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <functional>
#include <new>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

// What the processes have in common.
struct shared_counter {
    std::atomic<int> inside{0};
    std::atomic<long> entered{0}, met{0};
    std::atomic<std::uint64_t> last_token{0}, old_tokens{0};
    std::atomic<bool> over{false};
    long plain = 0;  // without the lock two would write the same
};

class shared_memory {
public:
    shared_memory() : counter_(new(::mmap(nullptr, sizeof(shared_counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) shared_counter) {}
    ~shared_memory() { ::munmap(counter_, sizeof(shared_counter)); }
    shared_counter* operator->() { return counter_; }
    shared_counter& operator*() { return *counter_; }

private:
    shared_counter* const counter_;
};

asio::awaitable<void> count(lock_manager& locks, shared_counter& c)
{
    asio::steady_timer pause(co_await asio::this_coro::executor);
    while (!c.over) {
        auto [ec, held] = co_await locks.async_acquire("counter", {.ttl = 1s, .wait = 1s}, asio::as_tuple(asio::use_awaitable));
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
        co_await held.async_release(asio::as_tuple(asio::use_awaitable));
    }
    co_await locks.async_shutdown(asio::as_tuple(asio::use_awaitable));
}

int work(config const& settings, shared_counter& c)
{
    asio::io_context context;
    lock_manager locks(context, settings);
    asio::co_spawn(context, count(locks, c), asio::detached);
    context.run();
    return 0;
}

void play(config settings, std::function<void()> const& faults)
{
    settings.stores = {postgresql({.connections = 2})};
    settings.fencing = true;
    settings.node_timeout = 200ms;
    settings.max_ttl = 2s;
    shared_memory c;
    {
        std::vector<testbed::process> workers;
        for (int i = 0; i < 4; ++i)
            workers.emplace_back([&] { return work(settings, *c); });
        auto const some_more = [&] {
            auto const before = c->entered.load();
            for (auto const end = clock::now() + 60s; c->entered < before + 20 && clock::now() < end;)
                std::this_thread::sleep_for(5ms);
            BOOST_TEST(c->entered >= before + 20);
        };
        for (int i = 0; i < 4; ++i) {
            some_more();
            faults();
        }
        some_more();
        c->over = true;
        for (auto& w : workers)
            BOOST_TEST(w.wait().code() == 0);
    }
    BOOST_TEST(c->met == 0);
    BOOST_TEST(c->plain == c->entered.load());
    BOOST_TEST(c->old_tokens == 0u);
}

void disturb(postgres_server& s)
{
    s.kill();
    s.start();
    std::this_thread::sleep_for(300ms);
    s.pause();
    std::this_thread::sleep_for(1500ms);  // longer than the ttl
    s.resume();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(faults_of_postgresql, *only_with_postgresql())

BOOST_AUTO_TEST_CASE(nobody_meets_anybody_while_the_database_is_killed_and_stopped)
{
    postgres_server s;  // which flushes what it confirms
    play({.nodes = {s.url()}}, [&] { disturb(s); });
}

BOOST_AUTO_TEST_CASE(nor_in_a_quorum_of_two_redis_servers_and_a_database)
{
    postgres_server s;
    local_server one({"--appendonly", "yes", "--appendfsync", "always"}), two({"--appendonly", "yes", "--appendfsync", "always"});
    int turn = 0;
    play({.nodes = {s.url(), one.url(), two.url()}}, [&] {
        if (turn++ % 2 == 0)
            return disturb(s);
        one.kill();
        one.start();
        two.pause();
        std::this_thread::sleep_for(1500ms);
        two.resume();
    });
}

BOOST_AUTO_TEST_SUITE_END()
