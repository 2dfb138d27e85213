// Locks on real servers: acquire, extend, renew, detach, inspect, release.

#include "support/real_servers.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(quorum_lock)

BOOST_FIXTURE_TEST_CASE(acquire_sets_a_key_with_value_and_ttl_on_every_node, manager_of<3>)
{
    auto won = r.acquire(locks, "stock:42", {.ttl = 60s, .wait = 5s});

    BOOST_TEST(!won.ec);
    BOOST_TEST(won.held.held());
    BOOST_TEST(r.run_to([&] { return r.keys("lock:stock:42") == 3; }));
    for (auto& s : r.servers) {
        BOOST_TEST(s->ask({"GET", "lock:stock:42"}) == won.held.token());
        auto const ttl = std::stol(s->ask({"PTTL", "lock:stock:42"}));
        BOOST_TEST(ttl > 20'000);
        BOOST_TEST(ttl <= 60'000);
    }
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(r.run_to([&] { return r.keys("lock:stock:42") == 0; }));
    BOOST_TEST(!r.shutdown(locks));
}

BOOST_AUTO_TEST_CASE(acquire_by_a_second_manager_returns_contended)
{
    real_servers r(3);
    lock_manager first(r.context, r.settings());
    lock_manager second(r.context, r.settings());
    auto won = r.acquire(first, "stock");

    BOOST_TEST((r.acquire(second, "stock").ec == errc::contended));
    r.release(won.held);
    BOOST_TEST(r.acquire(second, "stock", {.wait = 5s}).held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_respects_keys_of_other_clients, manager_of<3>)
{
    for (auto& s : r.servers)
        BOOST_TEST(s->ask({"SET", "lock:stock", "some-other-client", "NX", "PX", "60000"}) == "OK");

    BOOST_TEST((r.acquire(locks, "stock").ec == errc::contended));

    for (auto& s : r.servers) {
        BOOST_TEST(s->ask({"GET", "lock:stock"}) == "some-other-client");
        s->ask({"DEL", "lock:stock"});
    }
    r.connect(locks);
    auto won = r.acquire(locks, "stock");
    BOOST_TEST(won.held.held());
    BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 3; }));
    BOOST_TEST(r[0].ask({"SET", "lock:stock", "some-other-client", "NX", "PX", "60000"}) == "(nil)");
}

BOOST_FIXTURE_TEST_CASE(extend_prolongs_the_keys_on_the_servers, connected_to<3>)
{
    auto won = r.acquire(locks, "stock", {.ttl = 10s});
    auto const all_have_it_for_longer = [&] {
        return std::all_of(r.servers.begin(), r.servers.end(), [](auto& s) {
            return std::stol(s->ask({"PTTL", "lock:stock"})) > 10'000;
        });
    };

    BOOST_TEST(!r.extend(won.held, 60s));
    BOOST_TEST(r.run_to(all_have_it_for_longer));
    BOOST_TEST(!r.extend(won.held, 5s));  // an extension never shortens the ttl
    BOOST_TEST(all_have_it_for_longer());

    r.ask_all({"SET", "lock:stock", "thief"});
    BOOST_TEST((r.extend(won.held, 40s) == errc::lost));
    for (auto& s : r.servers) {
        BOOST_TEST(s->ask({"GET", "lock:stock"}) == "thief");
        BOOST_TEST(s->ask({"PTTL", "lock:stock"}) == "-1");
    }
    won.held = {};
    BOOST_TEST(!r.shutdown(locks));
    BOOST_TEST(r.keys("lock:stock") == 3u);
}

BOOST_FIXTURE_TEST_CASE(renewal_keeps_the_lock_longer_than_its_ttl, connected_to<3>)
{
    auto won = r.acquire(locks, "stock", {.ttl = 4s, .renew = renewal::automatic});

    BOOST_TEST(r.run_to([&] { return locks.stats().renewals >= 4; }));

    BOOST_TEST(won.held.held());
    BOOST_TEST(r.keys("lock:stock") == 3u);
}

// A different manager, without knowledge of the others, does each step.
BOOST_AUTO_TEST_CASE(detach_and_resume_by_another_manager_keeps_the_lock)
{
    for (auto const how : {mode::exclusive, mode::shared}) {
        real_servers r(3);
        auto const leave = [&](lock_manager& locks, lock held) {
            auto ticket = held.detach();
            BOOST_TEST(!r.shutdown(locks));
            return ticket;
        };
        lock_manager first(r.context, r.settings()), second(r.context, r.settings()), third(r.context, r.settings());
        r.connect(first);
        auto won = r.acquire(first, "stock", {.ttl = 60s, .mode = how});
        r.run_to([&] { return r.keys("lock:stock") == 3; });
        auto const ticket = leave(first, std::move(won.held));
        BOOST_TEST(r.keys("lock:stock") == 3u);

        auto [ec, resumed] =
            r.wait_for<lock>([&](auto done) { second.async_resume(ticket, {.ttl = 60s}, std::move(done)); });
        BOOST_TEST(!ec);
        BOOST_TEST(resumed.held());
        BOOST_TEST((resumed.mode() == how));
        BOOST_TEST(!r.extend(resumed, 60s));
        BOOST_TEST((leave(second, std::move(resumed)) == ticket));

        BOOST_TEST(!r.wait([&](auto done) { third.async_release(ticket, std::move(done)); }));
        BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 0; }));
        BOOST_TEST((r.wait([&](auto done) { third.async_release(ticket, std::move(done)); }) == errc::not_held));
        BOOST_TEST(!r.shutdown(third));
    }
}

BOOST_AUTO_TEST_CASE(inspect_returns_owner_and_remaining_time)
{
    real_servers r(3);
    lock_manager locks(r.context, r.settings({.owner = "web-1"}));
    r.connect(locks);
    auto won = r.acquire(locks, "stock", {.ttl = 30s});
    r.run_to([&] { return r.keys("lock:stock") == 3; });

    auto [ec, info] = r.wait_for<lock_info>([&](auto done) { locks.async_inspect("stock", std::move(done)); });

    BOOST_TEST(!ec);
    BOOST_TEST(info.locked);
    BOOST_TEST(info.owner == "web-1");
    BOOST_TEST((info.remaining > 20s && info.remaining <= 30s));
    BOOST_TEST(info.nodes[0].name == r[0].url());
    auto [free_ec, free] = r.wait_for<lock_info>([&](auto done) { locks.async_inspect("other", std::move(done)); });
    BOOST_TEST(!free_ec);
    BOOST_TEST(!free.locked);
}

BOOST_AUTO_TEST_CASE(with_lock_protects_a_counter_between_managers)
{
    real_servers r(3);
    int counter = 0, finished = 0;
    auto add = [&](lock_manager& locks) -> asio::awaitable<void> {
        for (int i = 0; i < 25; ++i) {
            co_await locks.with_lock("counter", {.ttl = 5s, .wait = 20s}, [&](lock&) -> asio::awaitable<void> {
                auto const seen = counter;
                asio::steady_timer pause(r.context, 1ms);
                co_await pause.async_wait(asio::use_awaitable);
                counter = seen + 1;
            });
        }
        ++finished;
    };
    std::vector<std::unique_ptr<lock_manager>> managers;
    for (int i = 0; i < 3; ++i) {
        managers.push_back(std::make_unique<lock_manager>(r.context, r.settings()));
        asio::co_spawn(r.context, add(*managers.back()), [](std::exception_ptr e) { BOOST_TEST(!e); });
    }
    BOOST_TEST(r.run_to([&] { return finished == 3; }, 60s));
    BOOST_TEST(counter == 75);
}

BOOST_FIXTURE_TEST_CASE(acquire_of_a_binary_resource_name_succeeds, manager_of<1>)
{
    std::string const odd("a\0b\r\n$3\r\n{}\xff", 13);
    auto won = r.acquire(locks, odd);
    BOOST_TEST(won.held.held());
    BOOST_TEST(r[0].ask({"EXISTS", "lock:" + odd}) == "1");
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(r[0].count_keys() == "0");
}

BOOST_AUTO_TEST_CASE(acquire_of_thousands_of_locks_at_once_leaves_no_key)
{
    real_servers r(5);
    lock_manager locks(r.context, r.settings({.node_timeout = 10s}));  // enough for 3,000 locks on a busy machine
    int done = 0, won = 0;
    for (int i = 0; i < 3000; ++i) {
        locks.async_acquire("r" + std::to_string(i), {.ttl = 20s, .wait = 5s}, [&](error_code ec, lock held) {
            ++done;
            won += !ec && held.held();
        });  // the destructor releases each lock
    }
    BOOST_TEST(r.run_to([&] { return done == 3000; }, 60s));
    BOOST_TEST(won == 3000);
    BOOST_TEST(!r.shutdown(locks));
    for (auto& s : r.servers)
        BOOST_TEST(s->count_keys() == "0");
}

BOOST_AUTO_TEST_SUITE_END()
