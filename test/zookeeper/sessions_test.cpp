// Sessions: a holder learns in time that its session has ended.

#include "plain_zookeeper.hpp"
#include "stores/store.hpp"
#include "support/stopped_leader.hpp"
#include "bed/proxy.hpp"
#include "testing/node_client.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using testbed::fault;

BOOST_FIXTURE_TEST_SUITE(sessions, event_loop, *only_with_server())

namespace {
/// A connection to a server through a proxy, which can cut it.
struct cut {
    explicit cut(zookeeper_server const& s) : proxy(std::vector<testbed::proxy::target>{{s.port()}}) { proxy.start(); }

    std::string url(std::string const& rest) const
    {
        return "zookeeper://127.0.0.1:" + std::to_string(proxy.port(0)) + rest;
    }

    testbed::proxy proxy;
};

}  // namespace

BOOST_AUTO_TEST_CASE(held_when_cut_off_is_false_before_another_acquires)
{
    cut way(server());
    lock_manager cut_off(r.context, on(way.url("?session=1s")));
    lock_manager other(r.context, on(server().url("?session=1s")));
    for (auto const renew : {renewal::none, renewal::automatic}) {
        auto won = r.acquire(cut_off, "cut off", {.ttl = 20s, .wait = 20s, .renew = renew});
        BOOST_REQUIRE(!won.ec);
        way.proxy.set_all(fault::half_open);

        std::optional<bool> held_by_both;
        lock second;
        other.async_acquire("cut off", {.ttl = 20s, .wait = 60s}, [&](error_code ec, lock l) {
            held_by_both = won.held.held();
            BOOST_TEST(!ec);
            second = std::move(l);
        });

        BOOST_TEST(r.run_to([&] { return held_by_both.has_value(); }));
        BOOST_TEST(!held_by_both.value_or(true));
        BOOST_TEST(second.held());
        way.proxy.set_all(fault::none);
        r.release(second);
        won.held = {};
    }
    r.shutdown(cut_off);
    r.shutdown(other);
}

BOOST_AUTO_TEST_CASE(acquire_while_a_stopped_leader_goes_on_waits_for_the_validity)
{
    testbed::zookeeper_ensemble ensemble(3);
    take_over_while_stopped(ensemble.leader(), on(ensemble.url("?session=2s&timeout=500ms")));
}

// The promise is half of the session timeout that the servers grant, because the leader learns of uses late.
BOOST_AUTO_TEST_CASE(acquire_promises_half_of_the_servers_session_timeout)
{
    zookeeper_server s({"maxSessionTimeout=2000"});
    testing::client c({.make = [&] { return make_node(s.url("?session=600s")); }});

    for (auto const what : {testing::kind::acquire, testing::kind::extend}) {
        auto const promised =
            c.ask({.what = testing::command_of(what), .ttl = testing::long_ttl}, "lock:stock", "v").good_for;
        BOOST_TEST((promised > 900ms && promised < 1000ms));
    }
}

BOOST_AUTO_TEST_CASE(changed_after_an_expired_session_reports_all_its_locks)
{
    cut way(server());
    testing::client c({.make = [&] { return make_node(way.url("?session=2s")); }});
    for (auto const* key : {"lock:lost:a", "lock:lost:b"})
        BOOST_REQUIRE(c.acquires(key, "v"));
    c.changes.clear();

    way.proxy.set_all(fault::half_open);
    testing::client other({.make = [] { return make_node(server().url()); }});
    other.run_to([&] { return other.acquires("lock:lost:a", "w"); }, "a session does not end");
    way.proxy.set_all(fault::none);
    c.run_to(
        [&] {
            return std::count(c.changes.begin(), c.changes.end(), "lock:lost:a")
                       + std::count(c.changes.begin(), c.changes.end(), "lock:lost:b")
                   == 2;
        },
        "the node does not report the end of its session");

    BOOST_TEST(!c.extends("lock:lost:a", "v"));
    BOOST_TEST(!c.extends("lock:lost:b", "v"));
    BOOST_TEST(c.acquires("lock:lost:b", "v"));
    c.releases("lock:lost:b", "v");
    other.releases("lock:lost:a", "w");
}

// No renewal is due, so the server must notify the node.
BOOST_AUTO_TEST_CASE(async_wait_lost_after_a_deletion_by_hand_returns_lost)
{
    lock_manager locks(r.context, on(server().url("?session=600s"), {.max_ttl = 600s}));
    auto held = hold(r, locks, "by hand", {.ttl = 600s, .renew = renewal::automatic});
    BOOST_REQUIRE(!r.extend(held, 600s));
    plain_zookeeper operators(server().port());
    BOOST_REQUIRE(operators.remove("/redlock/locks/lock:by%20hand") == ZOK);

    auto const ec = r.wait([&](auto done) { held.async_wait_lost(std::move(done)); });

    BOOST_TEST((ec == errc::lost));
    held = {};
    r.shutdown(locks);
}

namespace {

/// An operator deletes the node of a lock, and another client acquires it.
struct taken_by_hand {
    explicit taken_by_hand(real_servers& all)
        : r(all),
          before(r.context, on(server().url("?session=600s"))),
          next(r.context, on(server().url("?session=600s"))),
          operators(server().port())
    {
        first = hold(r, before, "handed", {.ttl = 20s});
        BOOST_TEST(!r.run_to([] { return false; }, 1100ms));  // an operator takes longer than a second
        BOOST_REQUIRE(operators.remove("/redlock/locks/lock:handed") == ZOK);
        second = hold(r, next, "handed", {.ttl = 20s});
    }

    ~taken_by_hand()
    {
        BOOST_TEST(operators.exists("/redlock/locks/lock:handed") == ZOK);
        BOOST_TEST(!r.extend(second, 20s));
        BOOST_TEST(!r.release(second));
        first = {};
        r.shutdown(before);
        r.shutdown(next);
    }

    real_servers& r;
    lock_manager before, next;
    plain_zookeeper operators;
    lock first, second;
};

}  // namespace

BOOST_AUTO_TEST_CASE(release_after_a_deletion_by_hand_leaves_the_lock_of_the_next_holder)
{
    taken_by_hand t(r);
    BOOST_TEST((r.release(t.first) == errc::not_held));
}

BOOST_AUTO_TEST_CASE(extend_after_a_deletion_by_hand_leaves_the_lock_of_the_next_holder)
{
    taken_by_hand t(r);
    BOOST_TEST(!!r.extend(t.first, 40s));
}

BOOST_AUTO_TEST_CASE(expiry_after_a_deletion_by_hand_leaves_the_lock_of_the_next_holder)
{
    lock_manager before(r.context, on(server().url("?session=600s"))),
        next(r.context, on(server().url("?session=600s")));
    auto const first = hold(r, before, "expired", {.ttl = 3500ms});
    plain_zookeeper operators(server().port());
    BOOST_REQUIRE(operators.remove("/redlock/locks/lock:expired") == ZOK);
    auto second = hold(r, next, "expired", {.ttl = 20s});

    BOOST_TEST(!r.run_to([] { return false; }, 4s));

    BOOST_TEST(!first.held());
    BOOST_TEST(operators.exists("/redlock/locks/lock:expired") == ZOK);
    BOOST_TEST(!r.release(second));
    r.shutdown(before);
    r.shutdown(next);
}

// While the session lasts, only the node can end a lock of the session. So the node must delete the lock.
BOOST_AUTO_TEST_CASE(acquire_with_a_longer_session_expires_after_the_ttl)
{
    lock_manager locks(r.context, on(server().url("?session=600s")));
    auto const held = hold(r, locks, "brief", {.ttl = 3500ms});
    plain_zookeeper operators(server().port());

    BOOST_TEST(r.run_to([&] { return operators.exists("/redlock/locks/lock:brief") == ZNONODE; }));

    BOOST_TEST(!held.held());
    r.shutdown(locks);
}

// zookeeper_close would end the session, and wait for the answer.
BOOST_AUTO_TEST_CASE(abandon_with_its_context_does_not_end_the_session)
{
    auto own = std::make_unique<real_servers>(0);
    lock_manager locks(own->context, on(server().url("?session=600s")));
    auto const won = own->acquire(locks, "context", {.ttl = 20s, .wait = 20s});
    BOOST_REQUIRE(!won.ec);

    own.reset();

    plain_zookeeper operators(server().port());
    BOOST_TEST(operators.exists("/redlock/locks/lock:context") == ZOK);
    BOOST_TEST(!won.held.held());
}

BOOST_AUTO_TEST_SUITE_END()
