// Servers that die, hang and come back, and cancelled operations.

#include "support/cancelled_after.hpp"
#include "support/quarantine.hpp"
#include "support/real_servers.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <thread>
#include <unistd.h>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(failures)

namespace {

std::size_t resident_kib()
{
    std::ifstream file("/proc/self/statm");
    std::size_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024;
}

long sets_carried_out(local_server const& s) { return carried_out(s, "set"); }

}  // namespace

// While a server is down, the system may give its port to another connection.
BOOST_AUTO_TEST_CASE(local_server_start_waits_for_its_port)
{
    local_server s;
    s.kill();
    asio::io_context context;
    asio::ip::tcp::acceptor stranger(context, {asio::ip::address_v4::loopback(), s.port()});
    std::thread leaves([&] {
        std::this_thread::sleep_for(300ms);
        stranger.close();
    });
    s.start();
    leaves.join();
    BOOST_TEST(s.ask({"PING"}) == "PONG");
}

BOOST_FIXTURE_TEST_CASE(acquire_with_one_of_three_nodes_down_succeeds_and_leaves_no_key, manager_of<3>)
{
    r[1].kill();

    auto won = r.acquire(locks, "stock", {.ttl = 5s});

    BOOST_TEST(!won.ec);
    BOOST_TEST(won.held.held());
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(!r.shutdown(locks));
    BOOST_TEST(r.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(renewal_with_one_of_three_nodes_killed_keeps_the_lock, manager_of<3>)
{
    auto won = r.acquire(locks, "stock", {.ttl = 4s, .renew = renewal::automatic});
    r[2].kill();

    for (std::size_t i = 1; i <= 4; ++i) {
        skip_time(1400ms);  // a third of the ttl
        BOOST_TEST(r.run_to([&] { return locks.stats().renewals >= i; }));
    }

    BOOST_TEST(won.held.held());
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(r.keys("lock:stock") == 0u);
    shut_down_and_skip_time(r, locks);
}

BOOST_AUTO_TEST_CASE(acquire_with_two_of_three_nodes_down_returns_no_quorum)
{
    real_servers r(3);
    lock_manager locks(r.context, r.settings({.restart_guard = restart_guard::off}));
    r.connect(locks);
    r[0].kill();
    r[1].kill();

    auto lost = r.acquire(locks, "stock", {.wait = 300ms});

    BOOST_TEST((lost.ec == errc::no_quorum));
    BOOST_TEST((lost.report.nodes[0].error == errc::node_unreachable
                || lost.report.nodes[0].error == errc::connection_lost
                || lost.report.nodes[0].error == errc::node_timeout));
    BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 0; }));
    r[0].start();
    auto won = r.acquire(locks, "stock", {.wait = 5s});
    BOOST_TEST(!won.ec);
    won.held = {};
    shut_down_and_skip_time(r, locks);
}

BOOST_AUTO_TEST_CASE(async_wait_lost_with_two_of_three_nodes_hung_completes)
{
    real_servers r(3);
    lock_manager locks(r.context, r.settings({.node_timeout = 250ms}));
    auto won = r.acquire(locks, "stock", {.ttl = 1s, .wait = 5s, .renew = renewal::automatic});
    r[0].pause();
    r[1].pause();

    auto const ec = r.wait([&](auto done) { won.held.async_wait_lost(std::move(done)); });

    BOOST_TEST((ec == errc::lost));  // the simulation checks the time; this process may have been paused
    BOOST_TEST(!won.held.held());
    r[0].resume();
    r[1].resume();
    won.held = {};
    r.shutdown(locks);
    BOOST_TEST(r.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_CASE(acquire_and_release_with_one_hung_node_are_not_delayed)
{
    real_servers r(3);
    lock_manager locks(r.context, r.settings({.node_timeout = 9s}));  // long, so a wait for the hung node would show
    r.connect(locks);
    r[2].pause();

    for (int i = 0; i < 50; ++i) {
        auto const begin = std::chrono::steady_clock::now();
        auto won = r.acquire(locks, "stock");
        BOOST_TEST(!won.ec);
        BOOST_TEST(!r.release(won.held));
        BOOST_TEST((std::chrono::steady_clock::now() - begin < 9s));
    }

    r[2].resume();
    BOOST_TEST(r.run_to([&] { return locks.stats().cleaning == 0; }));
    BOOST_TEST(r.keys("lock:stock") == 0u);
    r.shutdown(locks);
}

BOOST_FIXTURE_TEST_CASE(cancellation_of_acquire_leaves_no_key_on_any_node, connected_to<3>)
{
    int calls = 0;
    for (int i = 0; i < 300; ++i) {
        locks.async_acquire("stock" + std::to_string(i % 7), {.ttl = 30s, .wait = 1s},
                            cancelled_after(r.context.get_executor(), std::chrono::microseconds(i * 10),
                                            [&](error_code, lock) { ++calls; }));
    }
    BOOST_TEST(r.run_to([&] { return calls == 300; }));
    BOOST_TEST(r.run_to([&] {
        std::size_t left = 0;
        for (auto& s : r.servers)
            left += s->count_keys() != "0";
        return left == 0;
    }));
    BOOST_TEST(locks.stats().held == 0u);
}

BOOST_AUTO_TEST_CASE(cancellation_of_acquire_with_hung_nodes_leaves_no_key)
{
    real_servers r(3);
    ending_manager locks(r, r.settings({.node_timeout = 9s}));
    r.connect(locks);
    auto const before = sets_carried_out(r[0]);
    for (auto& s : r.servers)
        s->pause();
    error_code result;
    auto const begin = std::chrono::steady_clock::now();
    locks.async_acquire("stock", {.ttl = 30s},
                        cancelled_after(r.context.get_executor(), 1s, [&](error_code ec, lock) { result = ec; }));
    BOOST_TEST(r.run_to([&] { return result.failed(); }));
    BOOST_TEST((std::chrono::steady_clock::now() - begin < 8s));
    BOOST_TEST((result == asio::error::operation_aborted));

    for (auto& s : r.servers)
        s->resume();

    BOOST_TEST(r.run_to([&] { return locks.stats().cleaning == 0; }));
    BOOST_TEST(r.keys("lock:stock") == 0u);
    BOOST_TEST(sets_carried_out(r[0]) == before + 1);  // the command did arrive
}

// Rule 8 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(outbox_of_a_dead_node_is_bounded_and_replays_nothing, manager_of<3>)
{
    auto const cycles = [&](int count) {
        int done = 0;
        for (int i = 0; i < count; ++i) {
            locks.async_acquire("r" + std::to_string(i), {.ttl = 5s}, [&](error_code ec, lock held) {
                BOOST_TEST(!ec);
                held.async_release([&](error_code) { ++done; });
            });
            if (i % 100 == 99)
                r.run_to([&] { return done == i + 1; });
        }
        BOOST_TEST(r.run_to([&] { return done == count; }));
    };
    cycles(2000);
    r[2].kill();
    cycles(2000);
    [[maybe_unused]] auto const before = resident_kib();
    cycles(20'000);
    [[maybe_unused]] auto const after = resident_kib();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers keep freed memory
    BOOST_TEST(after < before + 8 * 1024);                           // 20,000 queued requests would need more
#endif

    r[2].start();
    BOOST_TEST(r.run_to([&] { return locks.stats().nodes[2].connected; }));

    BOOST_TEST(r[2].count_keys() == "0");
    BOOST_TEST(sets_carried_out(r[2]) > 0);
    BOOST_TEST(sets_carried_out(r[2]) < 20);  // the trial commands of the greeting
    auto won = r.acquire(locks, "stock");
    BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 3; }));
    won.held = {};
    r.shutdown(locks);
    BOOST_TEST(r.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_CASE(outbox_of_a_hung_node_sends_no_backlog)
{
    real_servers r(3);
    auto settings = r.settings();
    settings.node_timeout = 500ms;
    ending_manager locks(r, settings);
    r.connect(locks);
    r[2].pause();
    auto const lock_and_unlock = [&] { r.release(r.acquire(locks, "stock").held); };
    auto const before = sets_carried_out(r[0]);  // the warm-up, and the trial of the greeting
    lock_and_unlock();
    auto const first = clock::now();
    long in_time = 1, all = 1;
    for (; locks.stats().nodes[2].connected; ++all) {
        in_time += clock::now() <= first + settings.node_timeout;
        lock_and_unlock();
    }
    BOOST_TEST(in_time < all);
    for (int i = 0; i < 200; ++i)
        lock_and_unlock();
    r[2].resume();
    BOOST_TEST(r.run_to([&] { return locks.stats().nodes[2].connected && locks.stats().cleaning == 0; }));

    // The node sent commands only until the server had been silent for node_timeout. Besides, the server now executes
    // the greetings of connections that were made meanwhile.
    BOOST_TEST(sets_carried_out(r[2]) <= in_time + before * (1 + carried_out(r[2], "hello")));
    BOOST_TEST(r.keys("lock:stock") == 0u);
    BOOST_TEST(r.run_to([&] {
        auto again = r.acquire(locks, "stock", {.wait = 5s});
        return r.run_to([&] { return r.keys("lock:stock") == 3; }, 1s);
    }));
}

BOOST_FIXTURE_TEST_CASE(connection_to_a_hung_idle_server_is_closed, connected_to<1>)
{
    r[0].pause();
    for (int i = 0; i < 3 && locks.stats().nodes[0].connected; ++i) {
        skip_time(busy_timeout);  // the interval of heartbeats
        r.context.run_for(100ms);
    }
    BOOST_TEST(r.run_to([&] { return !locks.stats().nodes[0].connected; }));
    r[0].resume();
    BOOST_TEST(r.run_to([&] { return locks.stats().nodes[0].connected; }));

    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
}

BOOST_AUTO_TEST_CASE(connection_survives_a_pause_of_the_process)
{
    real_servers r(1);
    ending_manager locks(r, r.settings({.node_timeout = 250ms}));
    r.connect(locks);
    r.release(r.acquire(locks, "stock").held);
    auto const connections = locks.stats().nodes[0].connections;
    for (int i = 0; i < 2; ++i) {  // with a request in flight, and for longer than two heartbeats
        locks.async_inspect("stock", [](error_code, lock_info) {});
        r.context.poll();
        r[0].ask({"PING"});  // by now the server has answered the manager, too
        skip_time(2500ms);
        r.context.run_for(100ms);
    }

    BOOST_TEST(!r.acquire(locks, "stock", {.wait = 5s}).ec);
    BOOST_TEST(locks.stats().nodes[0].connections == connections);
}

BOOST_AUTO_TEST_CASE(acquire_after_restart_without_log_waits_for_the_quarantine)
{
    real_servers r(1);
    lock_manager locks(r.context, r.settings({.max_ttl = 60s}));
    auto won = r.acquire(locks, "stock", {.ttl = 5s});
    r[0].kill();
    r[0].start();
    auto const restarted = clock::now();
    auto const refused = wait_for_quarantine(r, locks, "other", {.ttl = 4s});
    BOOST_TEST((refused.report.quarantine > 30s && refused.report.quarantine <= 60s));
    BOOST_TEST((locks.stats().nodes[0].quarantine > 30s));
    skip_idle_time(r, locks, 30s);
    wait_for_quarantine(r, locks, "other", {.ttl = 4s});
    auto next = acquire_after_quarantine(r, locks, "other", {.ttl = 5s});
    BOOST_TEST(!next.ec);
    BOOST_TEST((clock::now() >= restarted + 59900ms));
    BOOST_TEST((r.release(won.held) == errc::not_held));  // the server lost the lock
    next.held = {};
    shut_down_and_skip_time(r, locks);
}

BOOST_AUTO_TEST_CASE(restart_guard_off_lets_a_restarted_server_vote_at_once)
{
    real_servers r(1);
    lock_manager locks(r.context, r.settings({.restart_guard = restart_guard::off}));
    auto won = r.acquire(locks, "stock", {.ttl = 30s});
    r[0].kill();
    r[0].start();
    real_servers::outcome next;
    BOOST_TEST(r.run_to([&] {
        // The manager holds the lock itself, so it asks the node only at the end of the wait.
        next = r.acquire(locks, "stock", {.wait = 500ms});
        return !next.ec;
    }));
    won.held = {};
    next.held = {};
    shut_down_and_skip_time(r, locks);
}

BOOST_AUTO_TEST_CASE(acquire_after_restart_with_durable_log_is_not_quarantined)
{
    real_servers r(1, {"--appendonly", "yes", "--appendfsync", "always"});
    lock_manager locks(r.context, r.settings());
    auto won = r.acquire(locks, "stock", {.ttl = 30s});
    r[0].kill();
    r[0].start();
    auto next = r.acquire(locks, "other", {.wait = 5s});
    BOOST_TEST(!next.ec);
    BOOST_TEST((r.acquire(locks, "stock").ec == errc::contended));
    BOOST_TEST(!r.release(won.held));
    next.held = {};
    shut_down_and_skip_time(r, locks);
}

BOOST_AUTO_TEST_CASE(acquire_after_restart_that_adds_a_log_is_quarantined)
{
    real_servers r(1);
    lock_manager locks(r.context, r.settings({.max_ttl = 60s}));
    auto won = r.acquire(locks, "stock", {.ttl = 5s});
    auto const port = std::to_string(r[0].port());
    r[0].kill();
    local_server logging({"--appendonly", "yes", "--appendfsync", "always", "--port", port});  // replaces the server
    wait_for_quarantine(r, locks, "stock", {.ttl = 4s});
    shut_down_and_skip_time(r, locks);
}

BOOST_AUTO_TEST_CASE(allow_eviction_off_refuses_a_server_that_may_evict_keys)
{
    for (bool const allowed : {false, true}) {
        real_servers r(1, {"--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"});
        auto const o = r.attempt(r.settings({.allow_eviction = allowed}), {.wait = allowed ? 5s : 200ms});
        if (allowed) {
            BOOST_TEST(!o.ec);
        } else {
            BOOST_TEST((o.ec == errc::no_quorum));
            BOOST_TEST((o.report.nodes[0].error == errc::node_may_evict));
            BOOST_TEST(o.report.nodes[0].message.find("maxmemory-policy is volatile-lru") != std::string::npos);
            BOOST_TEST(o.report.nodes[0].message.find("CONFIG SET maxmemory-policy noeviction") != std::string::npos);
        }
    }
}

BOOST_AUTO_TEST_CASE(shutdown_with_dead_servers_is_quick)
{
    real_servers r(3);
    lock_manager locks(r.context, r.settings({.connect_timeout = 200ms}));
    r.connect(locks);
    auto won = r.acquire(locks, "stock", {.ttl = 60s});
    r.run_to([&] { return r.keys("lock:stock") == 3; });
    r[0].kill();

    won.held = {};
    BOOST_TEST((r.shutdown(locks) == errc::keys_left));  // the key on the dead node could not be released

    BOOST_TEST(r.keys("lock:stock") == 0u);
    r.context.run_for(5s);
    BOOST_TEST(r.context.stopped());  // no work is left
}

// Rule 11 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(context_destruction_with_requests_in_flight_is_safe)
{
    real_servers servers(3);
    auto const urls = servers.settings().nodes;
    for (int i = 0; i < 40; ++i) {
        std::unique_ptr<lock_manager> locks;
        lock held;
        {
            asio::io_context context;
            locks = std::make_unique<lock_manager>(context, manager_options{.nodes = urls});
            for (int k = 0; k < 10; ++k)
                locks->async_acquire("stock" + std::to_string(k % 4), {.ttl = 100ms, .wait = 1s},
                                     [&](error_code, lock l) { held = std::move(l); });
            context.run_for(std::chrono::microseconds(i * 150));
        }
        BOOST_TEST(!held.held());
    }
}

BOOST_AUTO_TEST_SUITE_END()
