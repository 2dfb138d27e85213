// Stores with sessions: servers that die, hang and come back, and unsupported operations.

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

BOOST_AUTO_TEST_CASE(extend_after_a_crash_of_a_durable_server_succeeds)
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

BOOST_AUTO_TEST_CASE(acquire_after_loss_of_the_data_is_quarantined)
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

BOOST_AUTO_TEST_CASE(renewal_with_a_dead_or_hung_member_keeps_the_lock)
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

BOOST_AUTO_TEST_CASE(acquire_on_two_addresses_of_a_store_reports_duplicate_node)
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

BOOST_AUTO_TEST_CASE(mixed_quorum_with_memory_servers_grants_locks)
{
    manager_options const others{.nodes = {"memory://one", "memory://two"}, .fencing = true};
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

BOOST_AUTO_TEST_CASE(fencing_token_grows_over_managers_and_sets)
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

// Without a notification, the waiter would ask again only after the ttl, and the test would fail.
BOOST_AUTO_TEST_CASE(release_wakes_a_waiter_of_another_manager)
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

// In a ZooKeeper name, most of these bytes become three. A server takes at most a megabyte.
BOOST_AUTO_TEST_CASE(acquire_of_the_most_and_longest_names_and_texts_succeeds)
{
    manager_options longest{.prefix = std::string(256, '\xfe'), .owner = std::string(256, '\xfd'), .fencing = true};
    auto const url = server().url(this_store::apart + std::string("?timeout=10s&session=60s"));
    lock_manager a(r.context, on(url, longest)), b(r.context, on(url, std::move(longest)));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < this_store::most_resources; ++i)
        names.push_back(std::string(509, '/') + std::to_string(100 + i));
    std::string note;
    while (note.size() < 200)
        note += "\xc3\xa9";
    acquire_options const options{.ttl = 60s, .wait = 60s, .explain = true, .note = note};
    auto [ec, held] = r.wait_for<lock>([&](auto done) { a.async_acquire(names, options, std::move(done)); });
    BOOST_TEST_REQUIRE(!ec, held.report()->message);
    error_code waiter = errc::contended;
    bool done = false;
    lock next;
    b.async_acquire(names, options, [&](error_code of, lock won) {
        waiter = of;
        next = std::move(won);
        done = true;
    });
    lock_info info;
    BOOST_TEST(r.run_to(
        [&] {
            info = r.wait_for<lock_info>([&](auto f) { b.async_inspect(names.back(), std::move(f)); }).second;
            return !info.waiters.empty();
        },
        60s));
    BOOST_TEST(info.owner == std::string(256, '\xfd'));
    BOOST_TEST(info.note == note);
    BOOST_TEST(info.since.has_value());
    auto const extended = r.extend(held, 60s);
    BOOST_TEST(!extended, extended.message());
    BOOST_TEST(!r.release(held));
    BOOST_TEST_REQUIRE(r.run_to([&] { return done; }, 60s));
    BOOST_TEST(!waiter, next.report()->message);
    BOOST_TEST(!r.release(next));
    r.shutdown(a);
    r.shutdown(b);
}

BOOST_AUTO_TEST_CASE(acquire_shared_or_of_too_many_names_is_refused)
{
    lock_manager locks(r.context, on(server().url(this_store::apart)));
    BOOST_TEST((r.acquire(locks, "stock", {.mode = mode::shared}).ec == errc::unsupported));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < this_store::most_resources; ++i)
        names.push_back("item:" + std::to_string(i));
    for (bool const ok : {true, false}) {
        auto const start = [&](auto done) { locks.async_acquire(names, {.explain = true}, std::move(done)); };
        auto const [ec, won] = r.wait_for<lock>(start);
        BOOST_TEST(!ec == ok);
        BOOST_TEST((won.report()->message.find(this_store::refuses_more) == std::string::npos) == ok);
        names.push_back("one too many");
    }
    r.shutdown(locks);
}

BOOST_AUTO_TEST_SUITE_END()
