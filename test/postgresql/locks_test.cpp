// The manager's locks on a real database, alone and beside other nodes.

#include "support/postgres.hpp"
#include "support/real_servers.hpp"
#include "support/virtual_clock.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(locks_in_postgresql, *only_with_postgresql())

namespace {

config on(std::string const& url, config c = {})
{
    c.nodes.push_back(url);
    c.stores = {postgresql()};
    if (c.node_timeout == config().node_timeout)
        c.node_timeout = patience;
    return c;
}

std::string bytes(std::string const& text)
{
    return "convert_to('" + text + "', 'UTF8')";
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_lock_is_seen_in_the_database_and_gone_when_it_is_given_back)
{
    real_servers r(0);
    lock_manager locks(r.context, on(database().url("?table=seen"), {.owner = "me"}));
    auto won = r.acquire(locks, "stock", {.ttl = 20s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    BOOST_TEST(database().ask("SELECT key || ' ' || split_part(value, ':', 2) FROM seen_locks") == "lock:stock me");
    BOOST_TEST(!r.extend(won.held, 40s));
    BOOST_TEST(database().ask("SELECT remaining > interval '30 s' FROM seen_locks") == "t");
    BOOST_TEST((r.acquire(locks, "stock").ec == errc::contended));
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(database().ask("SELECT count(*) FROM seen_locks") == "0");
}

BOOST_AUTO_TEST_CASE(who_waits_is_told_and_asks_seldom)
{
    for (bool const told : {true, false}) {
        real_servers r(0);
        auto const url = database().url(told ? "?connections=1" : "?connections=1&notify=off");
        lock_manager mine(r.context, on(url)), others(r.context, on(url));
        auto won = r.acquire(mine, "stock", {.ttl = 60s});
        BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
        real_servers::outcome waiter;
        r.start_acquire(waiter, others, "stock", {.ttl = 20s, .wait = wait_forever, .report = &waiter.report});
        r.run_to([] { return false; }, 3s);  // no time is skipped: by the server's clock the holder's end would move
        BOOST_TEST(!waiter.done);
        BOOST_TEST(!r.release(won.held));
        BOOST_TEST(r.run_to([&] { return waiter.done; }));
        BOOST_TEST(!waiter.ec);
        BOOST_TEST(waiter.report.rounds <= (told ? 5u : 40u));
        BOOST_TEST(!r.release(waiter.held));
    }
}

BOOST_AUTO_TEST_CASE(numbers_grow_whoever_holds_and_over_a_restart)
{
    postgres_server s;
    real_servers r(0);
    std::uint64_t last = 0;
    for (int i = 0; i < 3; ++i) {
        lock_manager locks(r.context, on(s.url(), {.node_timeout = 1s, .fencing = true, .restart_guard = restart_guard::off}));
        for (int k = 0; k < 3; ++k) {
            auto won = r.acquire(locks, "stock", {.ttl = 1500ms, .wait = 20s});
            BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
            BOOST_TEST(won.held.fencing_token() > last);
            last = won.held.fencing_token();
            BOOST_TEST(!r.release(won.held));  // the last one may be forgotten by a crash
        }
        s.kill();
        s.start();
    }
}

BOOST_AUTO_TEST_CASE(several_at_once_readers_and_writers)
{
    real_servers r(0);
    auto const settings = on(database().url(), {.fencing = true});
    lock_manager mine(r.context, settings), others(r.context, settings);
    auto orders = r.wait_for<lock>([&](auto done) { mine.async_acquire({"order:7", "stock:12"}, {.ttl = 20s}, std::move(done)); });
    BOOST_REQUIRE(!orders.first);
    BOOST_TEST((r.acquire(others, "stock:12").ec == errc::contended));
    BOOST_TEST(!r.release(orders.second));

    auto one = r.acquire(mine, "prices", {.ttl = 20s, .mode = mode::shared}), two = r.acquire(others, "prices", {.ttl = 20s, .mode = mode::shared});
    BOOST_TEST(!one.ec);
    BOOST_TEST(!two.ec);
    BOOST_TEST((r.upgrade(one.held) == errc::contended));
    BOOST_TEST(!r.release(two.held));
    BOOST_TEST(!r.upgrade(one.held));
    BOOST_TEST((r.acquire(others, "prices", {.ttl = 20s, .mode = mode::shared}).ec == errc::contended));
    BOOST_TEST(!r.downgrade(one.held));
    BOOST_TEST(!r.release(r.acquire(others, "prices", {.ttl = 20s, .mode = mode::shared}).held));
    BOOST_TEST(!r.release(one.held));
}

BOOST_AUTO_TEST_CASE(beside_redis_each_has_one_vote)
{
    postgres_server s({"fsync=off"});
    real_servers r(2);
    auto const settings = on(s.url(), r.settings({.restart_guard = restart_guard::off}));
    lock_manager mine(r.context, settings), others(r.context, settings);
    r.connect(mine);  // or two Redis servers would do
    auto won = r.acquire(mine, "stock", {.ttl = 60s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    BOOST_TEST(won.report.nodes.size() == 3u);
    BOOST_TEST(r.run_to([&] { return s.ask("SELECT count(*) FROM redlock_locks") == "1"; }));
    r[0].kill();
    BOOST_TEST((r.acquire(others, "stock").ec == errc::contended));
    BOOST_TEST(!r.extend(won.held, 60s));  // by the other Redis and the database
    s.kill();
    BOOST_TEST(r.acquire(others, "stock").ec.failed());
    BOOST_TEST(r.extend(won.held, 60s).failed());
    s.start();
    BOOST_TEST(r.run_to([&] { return !r.extend(won.held, 60s); }));
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(!r.release(r.acquire(others, "stock", {.ttl = 60s, .wait = 60s}).held));
}

BOOST_AUTO_TEST_CASE(one_database_has_one_vote)
{
    real_servers r(0);
    auto settings = on(database().url());
    settings.nodes.push_back(database().url("?table=twice"));
    settings.nodes.push_back("memory://third");
    auto const failed = r.attempt(settings);
    auto const is_duplicate = [](auto& n) { return n.error == errc::duplicate_node; };
    BOOST_TEST(std::count_if(failed.report.nodes.begin(), failed.report.nodes.end(), is_duplicate) <= 1);
    lock_manager locks(r.context, settings);
    BOOST_TEST(r.run_to([&] {
        auto const tried = r.acquire(locks, "stock");
        return std::count_if(tried.report.nodes.begin(), tried.report.nodes.end(), is_duplicate) == 1;
    }));
}

BOOST_AUTO_TEST_CASE(a_transaction_of_ones_own_fails_without_the_lock)
{
    real_servers r(0);
    auto const url = database().url();
    lock_manager locks(r.context, on(url));
    database().ask("CREATE TABLE sold (item text)");
    auto const sell = [](lock const& held) {
        auto const s = owns({}, held);
        return database().ask(fmt::format("BEGIN; DO $$BEGIN PERFORM redlock_owns('{}'::bytea[], '{}'); END$$; INSERT INTO sold VALUES ('hat'); COMMIT", s.parameters[0],
                                          s.parameters[1]));
    };
    auto const sold = [] { return database().ask("SELECT count(*) FROM sold"); };
    auto won = r.wait_for<lock>([&](auto done) { locks.async_acquire({"hat", "coat"}, {.ttl = 20s}, std::move(done)); });
    BOOST_REQUIRE(!won.first);
    sell(won.second);
    BOOST_TEST(sold() == "1");
    auto const late = owns({}, won.second);
    BOOST_TEST(late.text == "SELECT redlock_owns($1::bytea[], $2::bytea)");
    BOOST_TEST(!r.release(won.second));
    database().ask(fmt::format("BEGIN; SELECT redlock_owns('{}', '{}'); INSERT INTO sold VALUES ('hat'); COMMIT", late.parameters[0], late.parameters[1]));
    BOOST_TEST(sold() == "1");
    sell(won.second);  // of nothing
    BOOST_TEST(sold() == "1");

    auto reader = r.acquire(locks, "prices", {.ttl = 20s, .mode = mode::shared});
    sell(reader.held);
    BOOST_TEST(sold() == "2");
    BOOST_TEST(!r.release(reader.held));
    BOOST_TEST(owns({.table = "app.locks"}, won.second).text == "SELECT app.locks_owns($1::bytea[], $2::bytea)");
}

BOOST_AUTO_TEST_CASE(names_may_be_any_bytes_as_long_as_may_be)
{
    std::string const name = "it's \\ \xff" + std::string(1, '\0') + std::string(503, 'n'), owner(256, '\xfd');
    postgres_server s({"fsync=off", "bytea_output=escape"});
    real_servers r(0);
    lock_manager locks(r.context, on(s.url(), {.prefix = std::string(256, '\xfe'), .owner = owner, .fencing = true}));
    for (auto const m : {mode::exclusive, mode::shared, mode::upgradeable}) {
        auto won = r.acquire(locks, name, {.ttl = 20s, .mode = m});
        BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
        auto const [ec, info] = r.wait_for<lock_info>([&](auto done) { locks.async_inspect(name, std::move(done)); });
        BOOST_TEST(!ec);
        BOOST_TEST(info.locked);
        BOOST_TEST(info.owner == (m == mode::exclusive ? owner : ""));
        BOOST_TEST(s.ask("SELECT bool_and(key LIKE '%it''s%377%000nnn%' AND value LIKE '%:%375') FROM redlock_locks") == "t");
        BOOST_TEST(!r.extend(won.held, 30s));
        BOOST_TEST(!r.release(won.held));
    }
}

BOOST_AUTO_TEST_CASE(a_transaction_of_ones_own_is_told_that_it_does_not_have_a_lock_whose_name_is_no_text)
{
    postgres_server s({"fsync=off"});
    real_servers r(0);
    BOOST_TEST(!r.attempt(on(s.url())).ec);
    s.ask("DO $$BEGIN PERFORM redlock_owns('{\"\\\\xff00\"}', 'v'); EXCEPTION WHEN SQLSTATE 'RL001' THEN CREATE TABLE told (); END$$");
    BOOST_TEST(s.ask("SELECT count(*) FROM pg_class WHERE relname = 'told'") == "1");
}

BOOST_AUTO_TEST_CASE(what_nobody_needs_is_cleaned_up_and_counters_stay)
{
    real_servers r(0);
    lock_manager locks(r.context, on(database().url("?table=cleaned")));
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    auto& d = database();
    d.ask("INSERT INTO cleaned (key, expires, counter) VALUES (" + bytes("old") + ", clock_timestamp() - interval '2 hours', 0), (" + bytes("numbered")
          + ", '-infinity', 7), (" + bytes("taken") + ", clock_timestamp() + interval '1 hour', 0)");
    d.ask("INSERT INTO cleaned_tombstone VALUES (" + bytes("old") + ", 'v', clock_timestamp() - interval '1 s')");
    d.ask("INSERT INTO cleaned_reader VALUES (" + bytes("old") + ", 'v', clock_timestamp() - interval '2 hours')");
    BOOST_TEST(d.ask("SELECT cleaned_clean()") == "4");  // the stock, too, is free and has no number
    BOOST_TEST(d.ask("SELECT string_agg(convert_from(key, 'UTF8'), ' ' ORDER BY key) FROM cleaned WHERE key <> ''") == "numbered taken");
}

BOOST_AUTO_TEST_SUITE_END()
