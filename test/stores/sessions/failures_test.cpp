// Servers that die, hang and come back, and what they cannot do.

#include "stores/store.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(failures, event_loop, *only_with_server())

BOOST_AUTO_TEST_CASE(a_server_that_is_killed_and_started_again_has_forgotten_nothing)
{
    this_store::server s(this_store::durable);
    lock_manager locks(r.context, on(s.url("?session=60s")));
    auto held = hold(r, locks, "stock", {.ttl = 60s, .renew = renewal::automatic});
    s.kill();
    s.start();

    BOOST_TEST(r.run_to([&] { return locks.stats().nodes[0].connections == 2; }));
    BOOST_TEST(!r.extend(held, 60s));

    BOOST_TEST(this_store::sessions(s) <= this_store::sessions_of_one);
    BOOST_TEST(held.held());
    BOOST_TEST((r.acquire(locks, "stock").ec == errc::contended));
    BOOST_TEST(!r.release(held));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(a_server_whose_data_has_gone_does_not_vote_for_a_while)
{
    this_store::server s(this_store::durable);
    lock_manager locks(r.context, on(s.url(), {.max_ttl = 60s}));
    for (int i = 0; i < 10; ++i)
        BOOST_REQUIRE(!r.release(r.acquire(locks, "stock").held));
    s.kill();
    s.forget();
    s.start();
    BOOST_TEST(r.run_to([&] { return locks.stats().nodes[0].connections == 2; }));

    BOOST_TEST((r.acquire(locks, "stock").ec == errc::quarantined));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(a_member_that_dies_or_hangs_takes_no_lock_along)
{
    this_store::cluster cluster(3);
    lock_manager locks(r.context, on(cluster.url("?session=60s&timeout=500ms")));
    auto held = hold(r, locks, "stock", {.ttl = 60s, .wait = 20s, .renew = renewal::automatic});

    cluster[0].kill();
    BOOST_TEST(!r.acquire(locks, "first", {.wait = 50s}).ec);
    cluster[0].start();
    for (auto* const hangs : {&cluster.leader(), &cluster[1]}) {
        hangs->pause();
        BOOST_TEST(!r.acquire(locks, "second to " + std::to_string(hangs->port()), {.wait = 50s}).ec);
        hangs->resume();
    }

    BOOST_TEST(held.held());
    BOOST_TEST(locks.stats().lost == 0u);
    BOOST_TEST(!r.release(held));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(two_addresses_of_one_cluster_have_one_vote)
{
    this_store::cluster cluster(3);
    lock_manager locks(r.context, on(cluster[2].url(), {.nodes = {cluster.url(), "memory://one"}}));

    BOOST_TEST(r.run_to([&] {
        r.release(r.acquire(locks, "stock").held);
        auto const nodes = locks.stats().nodes;
        return nodes[0].last_error == errc::duplicate_node || nodes[2].last_error == errc::duplicate_node;
    }));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(it_stands_beside_other_kinds)
{
    config const others{.nodes = {"memory://one", "memory://two"}, .fencing = true};
    lock_manager locks(r.context, on(server().url(this_store::apart), others));
    std::uint64_t token = 0;
    for (int i = 0; i < 5; ++i) {
        auto held = hold(r, locks, "mixed", {.wait = 10s});
        BOOST_TEST(held.fencing_token() > token);
        token = held.fencing_token();
        BOOST_TEST(!r.release(held));
    }
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(tokens_grow_over_all_managers_and_sets)
{
    auto const settings = on(server().url(this_store::apart), {.fencing = true});
    lock_manager a(r.context, settings), b(r.context, settings);
    std::uint64_t token = 0;
    for (int i = 0; i < 6; ++i) {
        auto& locks = i % 2 == 0 ? a : b;
        auto const names = i % 3 == 0 ? resource_set{"tokens", "order"} : resource_set{"tokens"};
        auto won = r.wait_for<lock>([&](auto done) { locks.async_acquire(names, {.wait = 10s}, std::move(done)); });
        BOOST_REQUIRE(!won.first);
        BOOST_TEST(won.second.fencing_token() > token);
        token = won.second.fencing_token();
        BOOST_TEST(!r.release(won.second));
    }
    r.shutdown(a);
    r.shutdown(b);
}

// It would ask again by itself when the ttl is over, which is later than the test waits for.
BOOST_AUTO_TEST_CASE(who_waits_is_told_of_a_release)
{
    auto const settings = on(server().url(this_store::apart + std::string("?session=60s")));
    lock_manager a(r.context, settings), b(r.context, settings);
    auto won = r.acquire(a, "waiting", {.ttl = 60s});
    real_servers::outcome waiting;
    r.start_acquire(waiting, b, "waiting", {.wait = 60s});
    BOOST_REQUIRE(r.run_to([&] { return b.stats().rounds >= 2; }));

    r.release(won.held);

    BOOST_TEST(r.run_to([&] { return waiting.done; }));
    BOOST_TEST(!waiting.ec);
    r.release(waiting.held);
    r.shutdown(a);
    r.shutdown(b);
}

BOOST_AUTO_TEST_CASE(what_it_cannot_do_it_refuses)
{
    lock_manager locks(r.context, on(server().url(this_store::apart)));
    BOOST_TEST((r.acquire(locks, "stock", {.mode = mode::shared}).ec == errc::unsupported));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < this_store::most_resources; ++i)
        names.push_back("item:" + std::to_string(i));
    for (bool const ok : {true, false}) {
        attempt_report report;
        auto const start = [&](auto done) { locks.async_acquire(names, {.report = &report}, std::move(done)); };
        auto const [ec, won] = r.wait_for<lock>(start);
        BOOST_TEST(!ec == ok);
        BOOST_TEST((report.message.find(this_store::refuses_more) == std::string::npos) == ok);
        names.push_back("one too many");
    }
    r.shutdown(locks);
}

BOOST_AUTO_TEST_SUITE_END()
