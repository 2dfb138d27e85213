// Waiting for a lock on real servers, which send notifications when it is released.

#include "core/key.hpp"
#include "support/real_servers.hpp"
#include "support/virtual_clock.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(waiting_on_real_servers)

namespace {

// The ttl is long, so a test that waits for its end fails.
constexpr acquire_options held_long{.ttl = 60s, .wait = 5s};

// Manager `other` holds the lock, and manager `locks` waits for it.
struct queue_at_a_lock {
    queue_at_a_lock()
    {
        r.connect(locks);
        r.connect(other);
        held = r.acquire(other, "stock", held_long);
        r.start_acquire(waiter, locks, "stock", {.wait = 30s});
        BOOST_TEST(r.run_to([&] { return locks.stats().rounds == 2; }));
    }

    void finish()
    {
        BOOST_TEST(r.run_to([&] { return waiter.done; }));
        BOOST_TEST(waiter.held.held());
        held.held = {};
        waiter.held = {};
        r.shutdown(other);
        r.shutdown(locks);
    }

    real_servers r{3};
    lock_manager other{r.context, r.settings()}, locks{r.context, r.settings()};
    real_servers::outcome held, waiter;
};

}  // namespace

BOOST_AUTO_TEST_CASE(release_by_another_manager_wakes_a_waiter)
{
    real_servers r(5);
    ending_manager other(r, r.settings()), locks(r, r.settings());
    r.connect(locks);
    for (int i = 0; i < 20; ++i) {
        auto held = r.acquire(other, "stock", held_long);
        BOOST_REQUIRE(!held.ec);
        real_servers::outcome waiter;
        auto const before = locks.stats().rounds;
        r.start_acquire(waiter, locks, "stock", {.wait = 30s});
        BOOST_TEST(r.run_to([&] { return locks.stats().rounds > before; }));
        BOOST_TEST(!r.release(held.held));
        BOOST_TEST(r.run_to([&] { return waiter.done; }));
        BOOST_TEST(waiter.held.held());
        BOOST_TEST(!r.release(waiter.held));
    }
    BOOST_TEST(locks.stats().nodes[0].notifies);
}

BOOST_FIXTURE_TEST_CASE(acquire_with_wait_is_woken_by_a_foreign_del, connected_to<3>)
{
    r.ask_all({"SET", "lock:stock", "of another kind"});  // without a ttl
    real_servers::outcome waiter;
    r.start_acquire(waiter, locks, "stock", {.wait = 30s});
    BOOST_TEST(r.run_to([&] { return locks.stats().rounds == 2; }));
    r.context.restart();
    r.context.run_for(50ms);
    BOOST_TEST(!waiter.done);
    r[1].ask({"DEL", "lock:stock"});
    r[2].ask({"UNLINK", "lock:stock"});
    BOOST_TEST(r.run_to([&] { return waiter.done; }));
    BOOST_TEST(waiter.held.held());
    r.release(waiter.held);
}

// The servers have lost their records, and the lock is valid for its holder.
BOOST_FIXTURE_TEST_CASE(acquire_with_wait_after_flushall_does_not_get_the_lock, queue_at_a_lock)
{
    r.ask_all({"FLUSHALL"});
    BOOST_TEST(r.run_to([&] { return locks.stats().nodes[0].quarantine > 0ms; }));
    BOOST_TEST(!waiter.done);
    skip_time(31s);  // the end of the wait
    BOOST_TEST(r.run_to([&] { return waiter.done; }));
    BOOST_TEST(!waiter.held.held());
    held.held = {};
    r.shutdown(other);
    r.shutdown(locks);
}

BOOST_FIXTURE_TEST_CASE(acquire_with_wait_takes_an_expired_key, connected_to<3>)
{
    auto const begun = clock::now();
    r.ask_all({"SET", "lock:stock", "of one that died", "PX", "700"});
    auto won = r.acquire(locks, "stock", {.wait = 30s});
    BOOST_TEST(won.held.held());
    BOOST_TEST((clock::now() >= begun + 600ms));
    BOOST_TEST(won.report.rounds <= 5u);
    r.release(won.held);
}

BOOST_FIXTURE_TEST_CASE(acquire_with_wait_asks_again_after_a_lost_connection, queue_at_a_lock)
{
    // All connections end, and the key is deleted at the same time.
    for (auto& s : r.servers) {
        s->ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
        s->ask({"DEL", "lock:stock"});
    }
    finish();
}

BOOST_AUTO_TEST_CASE(acquire_with_wait_polls_servers_without_notifications)
{
    real_servers r(3);
    r.ask_all({"ACL", "SETUSER", "default", "-client", "+client|kill"});
    std::vector<std::string> lines;
    auto const log = [&](log_level, std::string_view line) {
        if (line.find("sends no notifications about changes") != line.npos)
            lines.emplace_back(line);
    };
    ending_manager other(r, r.settings()), locks(r, r.settings({.log = log}));
    r.connect(locks);
    auto held = r.acquire(other, "stock", held_long);
    real_servers::outcome waiter;
    r.start_acquire(waiter, locks, "stock", {.wait = 30s});
    BOOST_TEST(r.run_to([&] { return locks.stats().rounds >= 5; }));
    BOOST_TEST(!r.release(held.held));
    BOOST_TEST(r.run_to([&] { return waiter.done; }));
    BOOST_TEST(waiter.held.held());
    BOOST_TEST(!locks.stats().nodes[0].notifies);
    auto const connected = locks.stats().nodes[0].connections;
    r[0].ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    r.release(waiter.held);
    while (locks.stats().nodes[0].connections == connected)
        r.release(r.acquire(locks, "other", {.wait = 5s}).held);
    BOOST_TEST(lines.size() == 3u);  // once for each node
}

BOOST_FIXTURE_TEST_CASE(handovers_leave_no_key_and_wake_waiters_at_their_end, queue_at_a_lock)
{
    real_servers::outcome follower;
    r.start_acquire(follower, other, "stock", held_long);
    BOOST_TEST(r.run_to([&] { return other.stats().waiting == 1; }));
    BOOST_TEST(!r.release(held.held));
    BOOST_TEST(r.run_to([&] { return follower.done; }));
    auto const turn = core::handovers_key("lock:stock");
    BOOST_TEST(r.run_to([&] { return r.keys(turn) >= 2; }));
    r.ask_all({"PEXPIRE", turn, "60000"});  // otherwise it may expire too early on a slow machine
    // The waiter may have been woken by the release, and asks once more.
    std::uint64_t asked = 0;
    while (std::exchange(asked, locks.stats().rounds) != locks.stats().rounds) {
        r.context.restart();
        r.context.run_for(200ms);
    }
    BOOST_TEST(!waiter.done);
    r.ask_all({"PEXPIRE", "lock:stock", "60000"});  // changes the key of the lock, as a hand-over does
    r.context.run_for(50ms);
    BOOST_TEST(locks.stats().rounds == asked);
    BOOST_TEST(!r.release(follower.held));
    finish();
    for (auto& s : r.servers)
        BOOST_TEST(s->ask({"EXISTS", turn}) == "0");
}

BOOST_AUTO_TEST_CASE(acquire_without_wait_asks_for_no_notifications)
{
    real_servers r(3);
    ending_manager other(r, r.settings()), locks(r, r.settings());
    auto held = r.acquire(other, "stock", {.ttl = 60s});
    for (int i = 0; i < 20; ++i)
        BOOST_TEST((r.acquire(locks, "stock").ec == errc::contended));
    auto const statistics = r[0].ask({"INFO", "commandstats"});
    BOOST_TEST(statistics.find("client|caching") == std::string::npos);
    BOOST_TEST(r[0].ask({"EXISTS", core::wanted_key("lock:stock")}) == "0");
    r.release(held.held);
}

BOOST_AUTO_TEST_SUITE_END()
