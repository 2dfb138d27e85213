// Waiting for a lock on real servers, which tell when it goes.

#include "core/key.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(waiting_on_real_servers)

namespace {

// The ttl is so long that a test which waits for its end fails.
constexpr acquire_options held_long{.ttl = 60s, .wait = 5s};

// Another process has the lock, and one of ours waits for it.
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

BOOST_AUTO_TEST_CASE(a_release_by_another_process_wakes)
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
    BOOST_TEST(locks.stats().nodes[0].tells);
}

BOOST_FIXTURE_TEST_CASE(whoever_deletes_the_key_wakes, connected_to<3>)
{
    r.ask_all({"SET", "lock:stock", "of another kind"});  // without an end
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

BOOST_FIXTURE_TEST_CASE(flushing_all_wakes, queue_at_a_lock)
{
    r.ask_all({"FLUSHALL"});
    finish();
}

BOOST_FIXTURE_TEST_CASE(a_key_that_ran_out_is_taken, connected_to<3>)
{
    auto const begun = clock::now();
    r.ask_all({"SET", "lock:stock", "of one that died", "PX", "700"});
    auto won = r.acquire(locks, "stock", {.wait = 30s});
    BOOST_TEST(won.held.held());
    BOOST_TEST((clock::now() >= begun + 600ms));
    BOOST_TEST(won.report.rounds <= 5u);
    r.release(won.held);
}

BOOST_FIXTURE_TEST_CASE(what_a_lost_connection_did_not_tell_is_asked, queue_at_a_lock)
{
    // All connections end, and the lock with them.
    for (auto& s : r.servers) {
        s->ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
        s->ask({"DEL", "lock:stock"});
    }
    finish();
}

BOOST_AUTO_TEST_CASE(servers_that_may_not_tell_are_asked_now_and_then)
{
    real_servers r(3);
    r.ask_all({"ACL", "SETUSER", "default", "-client", "+client|kill"});
    std::vector<std::string> lines;
    auto const log = [&](log_level, std::string_view line) {
        if (line.find("does not tell of changes") != line.npos)
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
    BOOST_TEST(!locks.stats().nodes[0].tells);
    auto const connected = locks.stats().nodes[0].connections;
    r[0].ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    r.release(waiter.held);
    while (locks.stats().nodes[0].connections == connected)
        r.release(r.acquire(locks, "other", {.wait = 5s}).held);
    BOOST_TEST(lines.size() == 3u);  // once for each node
}

BOOST_FIXTURE_TEST_CASE(a_turn_leaves_nothing_and_wakes_at_its_end, queue_at_a_lock)
{
    real_servers::outcome follower;
    r.start_acquire(follower, other, "stock", held_long);
    BOOST_TEST(r.run_to([&] { return other.stats().waiting == 1; }));
    BOOST_TEST(!r.release(held.held));
    BOOST_TEST(r.run_to([&] { return follower.done; }));
    auto const turn = core::handovers_key("lock:stock");
    BOOST_TEST(r.run_to([&] { return r.keys(turn) >= 2; }));
    r.ask_all({"PEXPIRE", turn, "60000"});  // or it is over before we have looked, on a slow machine
    // Whoever was woken by the release asks once more.
    std::uint64_t asked = 0;
    while (std::exchange(asked, locks.stats().rounds) != locks.stats().rounds) {
        r.context.restart();
        r.context.run_for(200ms);
    }
    BOOST_TEST(!waiter.done);
    r.ask_all({"PEXPIRE", "lock:stock", "60000"});  // as each hand-over: the key of the lock changes
    r.context.run_for(50ms);
    BOOST_TEST(locks.stats().rounds == asked);
    BOOST_TEST(!r.release(follower.held));
    finish();
    for (auto& s : r.servers)
        BOOST_TEST(s->ask({"EXISTS", turn}) == "0");
}

BOOST_AUTO_TEST_CASE(without_a_wait_nothing_is_watched)
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
