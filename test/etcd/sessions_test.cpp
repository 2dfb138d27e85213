// Leases: a holder learns in time that its lease has ended.

#include "recorder.hpp"
#include "stores/store.hpp"
#include "support/stopped_leader.hpp"
#include "support/virtual_clock.hpp"
#include "testing/node_client.hpp"
#include "virtual_etcd.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(sessions, event_loop)

namespace {
/// Nodes and a server in one event loop. Virtual time passes when there is nothing else to do.
struct in_virtual_time {
    bool run_to(auto const& done) { return time.run_to(context, done); }

    lock acquire(lock_manager& locks, acquire_options const& o)
    {
        std::optional<std::pair<error_code, lock>> won;
        locks.async_acquire("stock", o, [&](error_code ec, lock l) { won.emplace(ec, std::move(l)); });
        BOOST_REQUIRE(run_to([&] { return won.has_value(); }));
        BOOST_REQUIRE(!won->first);
        return std::move(won->second);
    }

    void shutdown(lock_manager& locks)
    {
        bool done = false;
        locks.async_shutdown([&](error_code) { done = true; });
        BOOST_TEST(run_to([&] { return done; }));
    }

    virtual_clock time;
    asio::io_context context;
    virtual_etcd etcd{context};
    etcd_network network, other_network;
};

/// The time that a node promises for a lock under a lease of two seconds.
struct promises : in_virtual_time {
    promises()
    {
        node->start(context.get_executor(),
                    {.connected = [](server_identity const&) {}, .changed = [](std::string_view) {}});
        BOOST_TEST((ask(testing::kind::acquire) > 0ms));
    }

    ~promises()
    {
        node->close();
        time.run_for(context, 1s);
    }

    std::chrono::milliseconds ask(testing::kind what = testing::kind::extend)
    {
        auto const r = std::make_shared<testing::request>(
            node_command{.what = testing::command_of(what), .ttl = testing::long_ttl}, "lock:stock", "v");
        node->submit(r);
        BOOST_REQUIRE(run_to([&] { return r->answers > 0; }));
        BOOST_TEST((r->reply.vote == vote::granted));
        return r->reply.good_for;
    }

    std::shared_ptr<redlock::node> node = make_virtual_node(etcd, network, 2s);
};

}  // namespace

BOOST_AUTO_TEST_CASE(held_when_cut_off_is_false_before_another_acquires)
{
    in_virtual_time v;
    lock_manager cut_off(v.context, virtual_settings(v.etcd, v.network, 2s));
    lock_manager other(v.context, virtual_settings(v.etcd, v.other_network, 2s));
    for (auto const renew : {renewal::none, renewal::automatic}) {
        auto first = v.acquire(cut_off, {.ttl = 20s, .wait = 20s, .renew = renew});
        v.network.half_open = true;

        std::optional<bool> held_by_both;
        lock second;
        other.async_acquire("stock", {.ttl = 20s, .wait = 60s}, [&](error_code ec, lock l) {
            held_by_both = first.held();
            BOOST_TEST(!ec);
            second = std::move(l);
        });

        BOOST_TEST(v.run_to([&] { return held_by_both.has_value(); }));
        BOOST_TEST(!held_by_both.value_or(true));
        BOOST_TEST(second.held());
        v.network.half_open = false;
        first = {};
        second = {};
    }
    v.shutdown(cut_off);
    v.shutdown(other);
}

// The old leader does not know that leases were prolonged meanwhile (https://github.com/etcd-io/etcd/issues/15247).
BOOST_AUTO_TEST_CASE(held_is_false_before_another_acquires_when_an_old_leader_revokes)
{
    in_virtual_time v;
    lock_manager first(v.context, virtual_settings(v.etcd, v.network, 2s)),
        other(v.context, virtual_settings(v.etcd, v.other_network, 2s));
    auto held = v.acquire(first, {.ttl = 20s, .renew = renewal::automatic});
    auto const stopped = v.time.now();
    bool taken = false;
    other.async_acquire("stock", {.ttl = 20s, .wait = 600s}, [&](error_code ec, lock) {
        taken = !ec;
        BOOST_TEST((ec || !held.held()));
    });
    v.time.run_for(v.context, 5s);

    v.network.half_open = true;  // the first client is not notified at once
    v.etcd.resume_leader(stopped);
    v.time.run_for(v.context, 50ms);
    v.network.half_open = false;
    v.time.run_for(v.context, 5s);

    BOOST_TEST(held.held());
    BOOST_TEST(!taken);
    BOOST_TEST(first.stats().lost == 0u);
    v.shutdown(other);
    held = {};
    v.shutdown(first);
}

// Each renewal moves its lock to the next lease.
BOOST_AUTO_TEST_CASE(renewal_of_many_locks_keeps_all_beyond_the_first_lease)
{
    in_virtual_time v;
    lock_manager locks(v.context, virtual_settings(v.etcd, v.network, 2s));
    constexpr std::size_t count = 250;
    std::vector<lock> held;
    for (std::size_t i = 0; i < count; ++i) {
        locks.async_acquire("item:" + std::to_string(i), {.ttl = 20s, .wait = 20s, .renew = renewal::automatic},
                            [&](error_code ec, lock l) {
                                BOOST_TEST(!ec);
                                held.push_back(std::move(l));
                            });
    }
    BOOST_REQUIRE(v.run_to([&] { return held.size() == count; }));

    v.time.run_for(v.context, 10s);

    BOOST_TEST(std::count_if(held.begin(), held.end(), [](auto& l) { return l.held(); }) == std::ptrdiff_t(count));
    BOOST_TEST(locks.stats().lost == 0u);
    held.clear();
    v.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(acquire_while_a_stopped_leader_goes_on_waits_for_the_validity, *only_with_server())
{
    testbed::etcd_cluster cluster(3);
    auto& leader = cluster.leader();
    take_over_while_stopped(leader, on(cluster.url_of_others(leader, "?session=2s&timeout=500ms")));
}

BOOST_AUTO_TEST_CASE(async_wait_lost_after_a_revoked_lease_returns_lost, *only_with_server())
{
    etcd_server s;
    lock_manager locks(r.context, on(s.url("?session=600s"), {.max_ttl = 600s}));
    auto won = r.acquire(locks, "stock", {.ttl = 600s, .renew = renewal::automatic});
    BOOST_REQUIRE(!won.ec);
    auto const leases = s.ask({"lease", "list"});
    s.ask({"lease", "revoke", leases.substr(leases.rfind('\n') + 1)});

    auto const ec = r.wait([&](auto done) { won.held.async_wait_lost(std::move(done)); });

    BOOST_TEST((ec == errc::lost));  // long before the lease or the lock would expire
    won.held = {};
    auto again = r.acquire(locks, "stock", {.wait = 10s});
    BOOST_TEST(!again.ec);
    BOOST_TEST(!r.release(again.held));
    r.shutdown(locks);
}

// The request was sent on a connection that has ended since. It arrives when the next connection exists.
BOOST_AUTO_TEST_CASE(acquire_that_arrives_late_sets_no_key, *only_with_server())
{
    etcd_server s;
    recorder between(r.context, s.port());
    lock_manager locks(r.context, on(between.url("?timeout=200ms")));
    BOOST_REQUIRE(!r.release(r.acquire(locks, "warm-up").held));
    between.keep("bG9jazpzdG9jaw");  // lock:stock in base64
    auto const lost = r.acquire(locks, "stock", {.ttl = 60s});
    BOOST_TEST((lost.ec == errc::no_quorum));
    BOOST_REQUIRE(between.kept().starts_with("POST /v3/kv/txn"));
    BOOST_REQUIRE(r.run_to([&] { return locks.stats().nodes[0].connections >= 2 && locks.stats().cleaning == 0; }));

    auto const answer = between.replay();

    BOOST_TEST(answer.find("raft_term") != std::string::npos);
    BOOST_TEST(answer.find("\"succeeded\"") == std::string::npos);
    BOOST_TEST(s.ask({"get", "lock:stock"}).empty());
    r.shutdown(locks);
}

// While the lease lasts, only the node can end a lock under its lease. So the node must delete the lock.
BOOST_AUTO_TEST_CASE(acquire_with_a_longer_lease_expires_after_the_ttl)
{
    in_virtual_time v;
    lock_manager locks(v.context, virtual_settings(v.etcd, v.network, 600s));
    auto const begun = v.time.now();
    auto const held = v.acquire(locks, {.ttl = 3500ms});
    BOOST_TEST(v.etcd.has("lock:stock"));

    BOOST_TEST(v.run_to([&] { return !v.etcd.has("lock:stock"); }));

    BOOST_TEST(!held.held());
    BOOST_TEST((v.time.now() >= begun + 3500ms && v.time.now() < begun + 5s));
    v.shutdown(locks);
}

// The node does not know whether the key exists, and the lease lasts ten minutes.
BOOST_AUTO_TEST_CASE(acquire_on_a_cut_connection_expires_after_the_ttl, *only_with_server())
{
    etcd_server s;
    recorder between(r.context, s.port());
    auto const node = test::make_node(between.url("?session=600s"));
    node->start(r.context.get_executor(),
                {.connected = [](server_identity const&) {}, .changed = [](std::string_view) {}});
    auto const warm_up =
        std::make_shared<testing::request>(node_command{.what = commands::inspect{}}, "lock:stock", "");
    node->submit(warm_up);
    BOOST_REQUIRE(r.run_to([&] { return warm_up->answers > 0; }));
    between.cut_after("bG9jazpzdG9jaw");  // lock:stock in base64
    auto const sent =
        std::make_shared<testing::request>(node_command{.what = commands::acquire{}, .ttl = 3s}, "lock:stock", "v");

    node->submit(sent);

    BOOST_REQUIRE(r.run_to([&] { return sent->answers > 0; }));
    BOOST_TEST((sent->reply.vote == vote::unknown));
    BOOST_TEST(!s.ask({"get", "lock:stock"}).empty());
    BOOST_TEST(r.run_to([&] { return s.ask({"get", "lock:stock"}).empty(); }));
    node->close();
}

BOOST_AUTO_TEST_CASE(extend_when_the_keys_have_a_new_lease_promises_its_time)
{
    promises p;

    p.time.run_for(p.context, 2500ms);

    BOOST_TEST((p.ask() > 1s));
}

BOOST_AUTO_TEST_CASE(extend_without_a_next_lease_promises_the_old)
{
    promises p;
    p.network.refused = "TTL";  // the request for a lease

    p.time.run_for(p.context, 1500ms);

    BOOST_TEST((p.ask() <= 500ms));
}

// The locks of a node do not wait for each other.
BOOST_AUTO_TEST_CASE(extend_while_other_keys_cannot_move_promises_the_next_lease)
{
    promises p;
    auto const other = std::make_shared<testing::request>(
        node_command{.what = commands::acquire{}, .ttl = testing::long_ttl}, "lock:other", "v");
    p.node->submit(other);
    BOOST_REQUIRE(p.run_to([&] { return other->answers > 0; }));
    p.network.refused = stores::etcd::base64("lock:other");

    p.time.run_for(p.context, 1500ms);

    BOOST_TEST((p.ask() > 1s));
}

// Nobody renews it, so the node itself moves it.
BOOST_AUTO_TEST_CASE(acquire_for_longer_than_the_lease_keeps_others_out_for_its_ttl)
{
    in_virtual_time v;
    auto const node = make_virtual_node(v.etcd, v.network, 2s);
    node->start(v.context.get_executor(),
                {.connected = [](server_identity const&) {}, .changed = [](std::string_view) {}});
    std::vector<std::shared_ptr<testing::request>> all;
    for (int i = 0; i < 250; ++i) {
        all.push_back(std::make_shared<testing::request>(node_command{.what = commands::acquire{}, .ttl = 9s},
                                                         "lock:" + std::to_string(i), "v"));
        node->submit(all.back());
    }
    BOOST_REQUIRE(v.run_to([&] { return std::ranges::all_of(all, [](auto& r) { return r->answers > 0; }); }));
    auto const there = [&] {
        int n = 0;
        for (int i = 0; i < 250; ++i)
            n += v.etcd.has("lock:" + std::to_string(i)) ? 1 : 0;
        return n;
    };

    v.time.run_for(v.context, 8s);
    BOOST_TEST(there() == 250);
    v.time.run_for(v.context, 2s);
    BOOST_TEST(there() == 0);
    node->close();
    v.time.run_for(v.context, 1s);
}

BOOST_AUTO_TEST_SUITE_END()
