// Locks of a manager on a real database, alone and together with other nodes.

#include "stores/store.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(locks_in_a_database, event_loop, *only_with_server())

BOOST_AUTO_TEST_CASE(acquire_inserts_a_row_and_release_deletes_it)
{
    lock_manager locks(r.context, on(server().url("?table=seen"), {.owner = "me"}));
    auto held = hold(r, locks, "stock", {.ttl = 20s, .wait = this_store::first_wait});
    BOOST_TEST(ask(server(), this_store::locks_of("seen")) == "lock:stock");
    BOOST_TEST(ask(server(), this_store::owner_seen) == "me");
    BOOST_TEST(!r.extend(held, 40s));
    BOOST_TEST(ask(server(), this_store::seen_for_30_s) == "1");
    BOOST_TEST((r.acquire(locks, "stock").ec == errc::contended));
    BOOST_TEST(!r.release(held));
    BOOST_TEST(ask(server(), this_store::locks_of("seen")) == "");
}

BOOST_AUTO_TEST_CASE(fencing_token_grows_over_managers_and_restarts)
{
    this_store::server s(this_store::durable);
    std::uint64_t last = 0;
    for (int i = 0; i < 3; ++i) {
        manager_options const brief{.node_timeout = 1s, .fencing = true, .restart_guard = restart_guard::off};
        lock_manager locks(r.context, on(s.url(), brief));
        for (int k = 0; k < 3; ++k) {
            auto held = hold(r, locks, "stock", {.ttl = 1500ms, .wait = 20s});
            BOOST_TEST(held.fencing_token() > last);
            last = held.fencing_token();
            BOOST_TEST(!r.release(held));  // a crash may undo the last release
        }
        s.kill();
        s.start();
    }
}

BOOST_AUTO_TEST_CASE(acquire_of_sets_and_shared_locks_in_a_database_succeeds)
{
    auto const settings = on(server().url(), {.fencing = true});
    lock_manager mine(r.context, settings), others(r.context, settings);
    acquire_options const first{.ttl = 20s, .wait = this_store::first_wait};
    auto orders = r.wait_for<lock>([&](auto done) {
        mine.async_acquire({"order:7", "stock:12"}, first, std::move(done));
    });
    BOOST_REQUIRE(!orders.first);
    BOOST_TEST((r.acquire(others, "stock:12").ec == errc::contended));
    BOOST_TEST(!r.release(orders.second));

    acquire_options const shared{.ttl = 20s, .mode = mode::shared};
    auto one = r.acquire(mine, "prices", shared), two = r.acquire(others, "prices", shared);
    BOOST_TEST(!one.ec);
    BOOST_TEST(!two.ec);
    BOOST_TEST((r.upgrade(one.held) == errc::contended));
    BOOST_TEST(!r.release(two.held));
    BOOST_TEST(!r.upgrade(one.held));
    BOOST_TEST((r.acquire(others, "prices", shared).ec == errc::contended));
    BOOST_TEST(!r.downgrade(one.held));
    acquire_options const again{.ttl = 20s, .wait = this_store::first_wait, .mode = mode::shared};
    BOOST_TEST(!r.release(r.acquire(others, "prices", again).held));
    BOOST_TEST(!r.release(one.held));
}

BOOST_AUTO_TEST_CASE(mixed_quorum_with_redis_counts_one_vote_for_each_node)
{
    this_store::server s(this_store::durable);
    real_servers redis(2);
    auto const settings = on(s.url(), redis.settings({.restart_guard = restart_guard::off}));
    lock_manager mine(redis.context, settings), others(redis.context, settings);
    redis.connect(mine);  // otherwise the two Redis servers could be the majority
    auto won = redis.acquire(mine, "stock", {.ttl = 60s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    BOOST_TEST(won.report.nodes.size() == 3u);
    BOOST_TEST(redis.run_to([&] { return ask(s, this_store::locks_of("redlock")) == "lock:stock"; }));
    redis[0].kill();
    BOOST_TEST((redis.acquire(others, "stock").ec == errc::contended));
    BOOST_TEST(!redis.extend(won.held, 60s));  // the other Redis server and the database are a majority
    s.kill();
    BOOST_TEST(redis.acquire(others, "stock").ec.failed());
    BOOST_TEST(redis.extend(won.held, 60s).failed());
    s.start();
    BOOST_TEST(redis.run_to([&] { return !redis.extend(won.held, 60s); }));
    BOOST_TEST(!redis.release(won.held));
    BOOST_TEST(!redis.release(redis.acquire(others, "stock", {.ttl = 60s, .wait = 60s}).held));
}

BOOST_AUTO_TEST_CASE(acquire_on_two_addresses_of_a_database_reports_duplicate_node)
{
    auto const settings = on(server().url("?table=twice"), {.nodes = {server().url(), "memory://third"}});
    auto const duplicates = [](real_servers::outcome const& tried) {
        return std::ranges::count_if(tried.report.nodes, [](auto& n) { return n.error == errc::duplicate_node; });
    };
    BOOST_TEST(duplicates(r.attempt(settings)) <= 1);
    lock_manager locks(r.context, settings);
    BOOST_TEST(r.run_to([&] { return duplicates(r.acquire(locks, "stock")) == 1; }));
}

BOOST_AUTO_TEST_CASE(acquire_of_a_name_of_any_bytes_and_the_longest_length_succeeds)
{
    std::string const name = "it's \\ \xff" + std::string(1, '\0') + std::string(503, 'n'), owner(256, '\xfd');
    this_store::server s(this_store::plain_bytes);
    manager_options const longest{.prefix = std::string(256, '\xfe'), .owner = owner, .fencing = true};
    lock_manager locks(r.context, on(s.url(), longest));
    for (auto const m : {mode::exclusive, mode::shared, mode::upgradeable}) {
        auto held = hold(r, locks, name, {.ttl = 20s, .wait = this_store::first_wait, .mode = m});
        auto const [ec, info] = r.wait_for<lock_info>([&](auto done) { locks.async_inspect(name, std::move(done)); });
        BOOST_TEST(!ec);
        BOOST_TEST(info.locked);
        BOOST_TEST(info.owner == (m == mode::exclusive ? owner : ""));
        BOOST_TEST(this_store::shows_odd_name(s));
        BOOST_TEST(!r.extend(held, 30s));
        BOOST_TEST(!r.release(held));
    }
}

BOOST_AUTO_TEST_SUITE_END()
