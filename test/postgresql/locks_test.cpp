// The manager's locks in a real database.

#include "core/key.hpp"
#include "stores/store.hpp"
#include "support/virtual_clock.hpp"
#include "testing/node_client.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(locks_in_postgresql, event_loop, *only_with_server())

namespace {
std::string bytes(std::string const& text) { return "convert_to('" + text + "', 'UTF8')"; }

}  // namespace

BOOST_AUTO_TEST_CASE(async_acquire_that_waits_is_notified_and_asks_rarely)
{
    for (bool const told : {true, false}) {
        auto const url = server().url(told ? "?connections=1" : "?connections=1&notify=off");
        lock_manager mine(r.context, on(url)), others(r.context, on(url));
        auto won = r.acquire(mine, "stock", {.ttl = 60s});
        BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
        real_servers::outcome waiter;
        r.start_acquire(waiter, others, "stock", {.ttl = 20s, .wait = wait_forever, .explain = true});
        // This must be real time: skip_time does not advance the clock of the server, by which the lock ends.
        r.run_to([] { return false; }, 3s);
        BOOST_TEST(!waiter.done);
        BOOST_TEST(!r.release(won.held));
        BOOST_TEST(r.run_to([&] { return waiter.done; }));
        BOOST_TEST(!waiter.ec);
        BOOST_TEST(waiter.report.rounds <= (told ? 5u : 40u));
        BOOST_TEST(!r.release(waiter.held));
    }
}

BOOST_AUTO_TEST_CASE(inspect_that_watches_is_notified_of_the_end_of_each_hold)
{
    auto const node_at = [](std::string const& rest) {
        return testing::client({.make = [rest] { return make_node(server().url(rest), {.connect_timeout = 10s}); }});
    };
    auto asks = node_at("?table=watched"), acts = node_at("?table=watched");
    std::string const key = "lock:a", readers = core::readers_key(key);
    auto const watched = [&] { return asks.ask({.what = commands::inspect{.watch = true}}, key, {}).watched; };
    auto const told_of = [&](std::string const& name) {
        asks.run_to([&] { return std::ranges::find(asks.changes, name) != asks.changes.end(); }, "no notification");
        asks.changes.clear();
    };
    auto const share = [&](std::string const& value) {
        return acts.vote_of({.what = commands::acquire{}, .mode = mode::shared, .ttl = 60s}, key, value);
    };
    auto const leave = [&](std::string const& value) {
        return acts.vote_of({.what = commands::release{}, .mode = mode::shared}, key, value);
    };

    BOOST_TEST(!watched());  // nobody is notified when a free lock is acquired
    BOOST_TEST(acts.acquires(key, "v"));
    BOOST_TEST(!asks.inspect(key).watched);
    BOOST_TEST(watched());
    BOOST_TEST(watched());
    BOOST_TEST(acts.extends(key, "v"));
    BOOST_TEST(asks.changes.empty());
    BOOST_TEST(acts.releases(key, "v"));
    told_of(key);

    BOOST_TEST(acts.acquires(key, "w"));
    BOOST_TEST(watched());
    BOOST_TEST(acts.vote_of({.what = commands::downgrade{}, .mode = mode::shared}, key, "w"));
    told_of(key);
    BOOST_TEST(!watched());  // nobody is notified of a further reader
    BOOST_TEST(share("x"));
    BOOST_TEST(leave("w"));
    told_of(readers);
    BOOST_TEST(!watched());
    BOOST_TEST(leave("x"));
    told_of(key);
}

BOOST_AUTO_TEST_CASE(inspect_that_watches_does_not_wait_for_a_transaction)
{
    auto asks = testing::client({.make = [] {
        return make_node(server().url("?table=busy&connections=1&timeout=60s"), {.connect_timeout = 10s});
    }});
    BOOST_TEST(asks.acquires("lock:a", "v"));
    auto const text = "host=127.0.0.1 user=redlock dbname=postgres port=" + std::to_string(server().port());
    std::unique_ptr<PGconn, void (*)(PGconn*)> const other(PQconnectdb(text.c_str()), PQfinish);
    stores::postgresql::result const locked(
        PQexec(other.get(), "BEGIN; SELECT FROM busy WHERE key = 'lock:a' FOR SHARE"), PQclear);
    BOOST_TEST(std::string(PQresultErrorMessage(locked.get())) == "");

    auto const seen = asks.ask({.what = commands::inspect{.watch = true}}, "lock:a", {});

    BOOST_TEST((seen.vote == vote::granted));
    BOOST_TEST(!seen.watched);
}

BOOST_AUTO_TEST_CASE(owns_in_a_transaction_fails_without_the_lock)
{
    auto const url = server().url();
    lock_manager locks(r.context, on(url));
    server().ask("CREATE TABLE sold (item text)");
    auto const sell = [](lock const& held) {
        auto const s = owns({}, held);
        return server().ask(fmt::format("BEGIN; DO $$BEGIN PERFORM redlock_owns('{}'::bytea[], '{}'); END$$; INSERT "
                                        "INTO sold VALUES ('hat'); COMMIT",
                                        s.parameters[0], s.parameters[1]));
    };
    auto const sold = [] { return server().ask("SELECT count(*) FROM sold"); };
    auto won = r.wait_for<lock>([&](auto done) {
        locks.async_acquire({"hat", "coat"}, {.ttl = 20s}, std::move(done));
    });
    BOOST_REQUIRE(!won.first);
    sell(won.second);
    BOOST_TEST(sold() == "1");
    auto const late = owns({}, won.second);
    BOOST_TEST(late.text == "SELECT redlock_owns($1::bytea[], $2::bytea)");
    BOOST_TEST(!r.release(won.second));
    server().ask(fmt::format("BEGIN; SELECT redlock_owns('{}', '{}'); INSERT INTO sold VALUES ('hat'); COMMIT",
                             late.parameters[0], late.parameters[1]));
    BOOST_TEST(sold() == "1");
    sell(won.second);  // the handle holds nothing
    BOOST_TEST(sold() == "1");

    auto reader = r.acquire(locks, "prices", {.ttl = 20s, .mode = mode::shared});
    sell(reader.held);
    BOOST_TEST(sold() == "2");
    BOOST_TEST(!r.release(reader.held));
    BOOST_TEST(owns({.table = "app.locks"}, won.second).text == "SELECT app.locks_owns($1::bytea[], $2::bytea)");
}

BOOST_AUTO_TEST_CASE(owns_of_a_name_that_is_not_text_fails_without_the_lock)
{
    postgres_server s({"fsync=off"});
    BOOST_TEST(!r.attempt(on(s.url())).ec);
    s.ask("DO $$BEGIN PERFORM redlock_owns('{\"\\\\xff00\"}', 'v'); EXCEPTION WHEN SQLSTATE 'RL001' THEN CREATE TABLE "
          "told (); END$$");
    BOOST_TEST(s.ask("SELECT count(*) FROM pg_class WHERE relname = 'told'") == "1");
}

BOOST_AUTO_TEST_CASE(redlock_clean_deletes_expired_rows_and_keeps_counters)
{
    lock_manager locks(r.context, on(server().url("?table=cleaned")));
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    auto& d = server();
    d.ask("INSERT INTO cleaned (key, expires, counter) VALUES (" + bytes("old")
          + ", clock_timestamp() - interval '2 hours', 0), (" + bytes("numbered") + ", '-infinity', 7), ("
          + bytes("taken") + ", clock_timestamp() + interval '1 hour', 0)");
    d.ask("INSERT INTO cleaned_tombstone VALUES (" + bytes("old") + ", 'v', clock_timestamp() - interval '1 s')");
    d.ask("INSERT INTO cleaned_reader VALUES (" + bytes("old") + ", 'v', clock_timestamp() - interval '2 hours')");
    BOOST_TEST(d.ask("SELECT cleaned_clean()") == "4");  // includes the key of stock, which is free and has no counter
    BOOST_TEST(d.ask("SELECT string_agg(convert_from(key, 'UTF8'), ' ' ORDER BY key) FROM cleaned WHERE key <> ''")
               == "numbered taken");
}

BOOST_AUTO_TEST_SUITE_END()
