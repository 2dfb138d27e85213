// Real servers with faults of the network and mistakes of administrators.

#include "support/real_servers.hpp"
#include "bed/plain_client.hpp"
#include "bed/proxy.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using redlock::testbed::fault;
using redlock::testbed::proxy;

BOOST_AUTO_TEST_SUITE(faults)

namespace {

/// Servers behind a network with faults.
struct distant_servers : real_servers {
    explicit distant_servers(std::size_t count, std::vector<std::string> options = {})
        : real_servers(count, std::move(options))
    {
        make_network();
    }

    void make_network()
    {
        std::vector<proxy::target> targets;
        for (auto& s : servers)
            targets.push_back({s->port()});
        network = std::make_unique<proxy>(targets);
        network->start();
    }

    manager_options over_network(manager_options special = {}) const
    {
        auto c = settings(std::move(special));
        for (std::size_t i = 0; i < network->size(); ++i)
            c.nodes[i] = network->url(i);
        return c;
    }

    // Checks that everything works again: all servers vote, and no key is left.
    void check_recovery(lock_manager& locks)
    {
        connect(locks);
        BOOST_TEST(run_to(
            [&] {
                auto won = acquire(locks, "afterwards", {.wait = 5s});
                bool const all = !won.ec && run_to([&] { return keys("lock:afterwards") == servers.size(); }, 1s);
                release(won.held);
                return all;
            },
            20s));
        BOOST_TEST(run_to([&] { return locks.stats().cleaning == 0; }));
        shutdown(locks);
        for (auto& s : servers)
            BOOST_TEST(s->count_keys() == "0");
    }

    std::unique_ptr<proxy> network;
};

// The beginning and the end of most tests.
struct connected_over_network {
    explicit connected_over_network(manager_options special = {}) : locks(r.context, r.over_network(std::move(special)))
    {
        r.connect(locks);
    }
    void teardown() { r.check_recovery(locks); }

    distant_servers r{3};
    lock_manager locks;
};

template <int NodeTimeout>
struct connected_with_timeout : connected_over_network {
    connected_with_timeout() : connected_over_network({.node_timeout = std::chrono::milliseconds(NodeTimeout)}) {}
};

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_with_replies_byte_by_byte_succeeds)
{
    distant_servers r(3);
    r.network->set_all(fault::trickle);
    lock_manager locks(r.context, r.over_network());
    for (int i = 0; i < 20; ++i) {
        auto won = r.acquire(locks, "stock", {.wait = 5s});
        BOOST_TEST(!won.ec);
        BOOST_TEST(!r.extend(won.held, 20s));
        BOOST_TEST(!r.release(won.held));
    }
    r.network->set_all(fault::none);
    r.check_recovery(locks);
}

BOOST_FIXTURE_TEST_CASE(acquire_from_servers_beyond_node_timeout_returns_no_quorum, connected_with_timeout<200>)
{
    for (std::size_t i = 0; i < 3; ++i)
        r.network->set_rtt(i, 800ms);
    auto lost = r.acquire(locks, "stock");
    BOOST_TEST((lost.ec == errc::no_quorum));
    for (std::size_t i = 0; i < 3; ++i)
        r.network->set_rtt(i, 0ms);
}

BOOST_FIXTURE_TEST_CASE(acquire_with_lost_replies_leaves_no_key, connected_with_timeout<2000>)
{
    r.network->set_all(fault::mute);
    std::optional<error_code> outcome;
    locks.async_acquire("stock", {.ttl = 30s}, [&](error_code ec, lock) { outcome = ec; });
    // The servers carry out the acquisition, but the manager does not know that. It may release the key as soon as the
    // round is over.
    BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 3; }));
    BOOST_TEST(r.run_to([&] { return outcome.has_value(); }));
    BOOST_TEST((outcome == errc::no_quorum));
    r.network->set_all(fault::none);
    BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 0; }));  // the manager has released it
}

BOOST_FIXTURE_TEST_CASE(acquire_with_a_half_open_connection_succeeds, connected_over_network)
{
    r.network->set(2, fault::half_open);
    for (int i = 0; i < 50; ++i)
        BOOST_TEST(!r.release(r.acquire(locks, "stock", {.wait = 5s}).held));
    r.network->set(2, fault::none);
}

BOOST_FIXTURE_TEST_CASE(acquire_with_connections_reset_in_a_reply_leaves_no_key, connected_over_network)
{
    for (int i = 0; i < 10; ++i) {
        r.network->set(0, fault::reset);
        r.network->set(1, i % 2 ? fault::reset : fault::none);
        auto o = r.acquire(locks, "stock", {.ttl = 30s});
        r.network->set_all(fault::none);
        r.release(o.held);
        r.connect(locks);
        BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 0; }));
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_with_garbage_between_replies_reconnects_with_back_off, connected_with_timeout<200>)
{
    auto const begin = std::chrono::steady_clock::now();
    r.network->set_all(fault::garbage);
    for (int i = 0; i < 10; ++i) {
        auto o = r.acquire(locks, "stock", {.ttl = 5s});
        BOOST_TEST((!o.ec || o.ec == errc::no_quorum));
        r.release(o.held);
    }
    auto const took = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
    BOOST_TEST(r.network->connections(0) < 20 + 10 * took.count());  // the manager pauses between connections
    r.network->set_all(fault::none);
}

BOOST_FIXTURE_TEST_CASE(acquire_while_servers_pause_their_clients_succeeds_later, connected_with_timeout<1000>)
{
    r[0].ask({"CLIENT", "PAUSE", "2000"});
    BOOST_TEST(!r.release(r.acquire(locks, "stock", {.wait = 5s}).held));
    r[1].ask({"CLIENT", "PAUSE", "2000"});
    r[2].ask({"CLIENT", "PAUSE", "2000"});
    auto const before = clock::now();
    auto late = r.acquire(locks, "other", {.ttl = 5s, .wait = 5s});
    BOOST_TEST(!late.ec);
    // The pause may delay the round, but its validity counts from a time after the call.
    BOOST_TEST((late.held.valid_until() <= clock::now() + 5s - 52ms));
    BOOST_TEST((late.held.valid_until() >= before + 5s - 52ms));
    BOOST_TEST(!r.release(late.held));
}

BOOST_AUTO_TEST_CASE(acquire_with_a_sleeping_server_succeeds)
{
    distant_servers r(3);
    if (r[0].ask({"CONFIG", "GET", "enable-debug-command"}).find("enable-debug-command") != std::string::npos) {
        for (auto& s : r.servers)
            s = std::make_unique<local_server>(std::vector<std::string>{"--enable-debug-command", "yes"});
        r.make_network();
    }
    lock_manager locks(r.context, r.over_network());
    r.connect(locks);
    std::thread sleeper([&] { r[0].ask({"DEBUG", "SLEEP", "1"}); });
    for (int i = 0; i < 50; ++i)
        BOOST_TEST(!r.release(r.acquire(locks, "stock", {.wait = 5s}).held));
    sleeper.join();
    r.check_recovery(locks);
}

BOOST_AUTO_TEST_CASE(extend_after_an_eviction_returns_lost)
{
    distant_servers r(3, {"--maxmemory", "4mb", "--maxmemory-policy", "allkeys-random"});
    lock_manager locks(r.context, r.over_network({.allow_eviction = true}));
    r.connect(locks);
    auto won = r.acquire(locks, "stock", {.ttl = 60s});
    BOOST_TEST(!won.ec);
    // All servers must have the key first. A late request would set the key again after the eviction.
    BOOST_TEST_REQUIRE(r.run_to([&] { return r.keys("lock:stock") == 3; }));
    for (std::size_t i = 0; i < 2; ++i) {
        testbed::plain_client filler(r[i].port());
        for (int k = 0; k < 20'000 && r[i].ask({"EXISTS", "lock:stock"}) == "1";) {
            for (int n = 0; n < 50; ++n, ++k)
                filler.ask({"SET", "fill" + std::to_string(k), std::string(16'384, 'x')});
        }
        BOOST_TEST_REQUIRE(r[i].ask({"EXISTS", "lock:stock"}) == "0");
    }
    BOOST_TEST((r.extend(won.held, 60s) == errc::lost));
    won.held = {};
    BOOST_TEST(!r.shutdown(locks));
    BOOST_TEST(r.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(extend_after_script_flush_succeeds, connected_over_network)
{
    auto won = r.acquire(locks, "stock", {.ttl = 30s});
    for (int i = 0; i < 30; ++i) {
        r.ask_all({"SCRIPT", "FLUSH"});
        BOOST_TEST(!r.extend(won.held, 30s));
    }
    r.ask_all({"SCRIPT", "FLUSH"});
    BOOST_TEST(!r.release(won.held));
}

BOOST_FIXTURE_TEST_CASE(last_error_after_a_password_change_is_authentication_failed, connected_over_network)
{
    auto won = r.acquire(locks, "stock", {.ttl = 60s});
    r[0].ask({"CONFIG", "SET", "requirepass", "new"});
    testbed::plain_client admin(r[0].port());
    admin.ask({"AUTH", "new"});
    admin.ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    BOOST_TEST(r.run_to([&] {
        r.extend(won.held, 60s);
        return locks.stats().nodes[0].last_error == errc::authentication_failed;
    }));
    BOOST_TEST(won.held.held());
    BOOST_TEST(!r.extend(won.held, 60s));  // by the other two servers
    admin.ask({"CONFIG", "SET", "requirepass", ""});
    BOOST_TEST(!r.release(won.held));
}

BOOST_AUTO_TEST_CASE(extend_after_a_crash_is_lost_unless_servers_have_a_log)
{
    for (bool const durable : {true, false}) {
        distant_servers r(3, durable ? std::vector<std::string>{"--appendonly", "yes", "--appendfsync", "always"}
                                     : std::vector<std::string>{});
        lock_manager locks(r.context, r.over_network({.restart_guard = restart_guard::off}));
        r.connect(locks);
        auto won = r.acquire(locks, "stock", {.ttl = 60s});
        BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 3; }));
        for (std::size_t i = 0; i < 2; ++i) {
            r[i].kill();
            r[i].start();
        }
        BOOST_TEST(r.keys("lock:stock") == (durable ? 3u : 1u));
        error_code ec;
        BOOST_TEST(r.run_to([&] { return (ec = r.extend(won.held, 60s)) != errc::no_quorum; }));
        BOOST_TEST((ec == (durable ? error_code() : error_code(errc::lost))));
        won.held = {};
        r.check_recovery(locks);
    }
}

BOOST_AUTO_TEST_SUITE_END()
