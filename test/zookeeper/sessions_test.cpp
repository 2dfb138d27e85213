// Sessions: who holds a lock knows in time when they end.

#include "plain_zookeeper.hpp"
#include "stores/store.hpp"
#include "support/stopped_leader.hpp"
#include "testbed/proxy.hpp"
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
/// A way to a server that can be cut.
struct cut {
    explicit cut(zookeeper_server const& s) : proxy(std::vector<testbed::proxy::target>{{s.port()}}) { proxy.start(); }

    std::string url(std::string const& rest) const
    {
        return "zookeeper://127.0.0.1:" + std::to_string(proxy.port(0)) + rest;
    }

    testbed::proxy proxy;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_holder_that_is_cut_off_knows_before_another_can_have_the_lock)
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

// What is promised is the session's, and no more: half of it, because the leader hears late that it was used.
BOOST_AUTO_TEST_CASE(a_lock_is_promised_for_half_of_the_session_that_the_servers_agree_to)
{
    zookeeper_server s({"maxSessionTimeout=2000"});
    testing::client c({.make = [&] { return make_node(s.url("?session=600s")); }});

    for (auto const what : {testing::kind::acquire, testing::kind::extend}) {
        auto const promised = c.ask({.what = what, .ttl = testing::long_ttl}, "lock:stock", "v").good_for;
        BOOST_TEST((promised > 900ms && promised < 1000ms));
    }
}

BOOST_AUTO_TEST_CASE(a_session_that_has_ended_is_a_loss_of_all_that_it_had_and_another_one_begins)
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
        "the end of a session is not told");

    BOOST_TEST(!c.extends("lock:lost:a", "v"));
    BOOST_TEST(!c.extends("lock:lost:b", "v"));
    BOOST_TEST(c.acquires("lock:lost:b", "v"));
    c.releases("lock:lost:b", "v");
    other.releases("lock:lost:a", "w");
}

// There is no renewal to come: it was told.
BOOST_AUTO_TEST_CASE(a_lock_that_an_operator_deletes_is_lost_at_once)
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

// Until the session ends nobody but the node that has it ends a lock; so it must do that.
BOOST_AUTO_TEST_CASE(a_lock_ends_with_its_ttl_though_the_session_goes_on)
{
    lock_manager locks(r.context, on(server().url("?session=600s")));
    auto const held = hold(r, locks, "brief", {.ttl = 3500ms});
    plain_zookeeper operators(server().port());

    BOOST_TEST(r.run_to([&] { return operators.exists("/redlock/locks/lock:brief") == ZNONODE; }));

    BOOST_TEST(!held.held());
    r.shutdown(locks);
}

// By the library's own way to close, the session would end, and that would be waited for.
BOOST_AUTO_TEST_CASE(a_context_that_ends_first_waits_for_no_farewell)
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
