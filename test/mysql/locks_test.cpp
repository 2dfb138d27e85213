// The manager's locks in a real database.

#include "stores/store.hpp"
#include "support/quarantine.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(locks_in_mysql, event_loop, *only_with_server())

BOOST_AUTO_TEST_CASE(inspect_without_the_right_to_select_knows_the_holder_only)
{
    auto const rest = fmt::format("127.0.0.1:{}/redlock?table=looked_at&timeout=10s", server().port());
    lock_manager mine(r.context, on("mysql://redlock@" + rest, {.owner = "web-1"}));
    auto held = hold(r, mine, "stock", {.ttl = 60s, .note = "nightly report"});
    mariadb_client root(server());
    BOOST_TEST(root.ask("CREATE USER looker@'127.0.0.1'; GRANT EXECUTE ON redlock.* TO looker@'127.0.0.1'") == "");
    lock_manager looks(r.context, on("mysql://looker@" + rest));
    auto const inspect = [&] {
        return r.wait_for<lock_info>([&](auto done) { looks.async_inspect("stock", std::move(done)); }).second;
    };
    for (int i = 0; i < 3; ++i) {
        auto const info = inspect();
        BOOST_TEST(info.owner == "web-1");
        BOOST_TEST(info.note == "nightly report");
        BOOST_TEST(!info.knows_readers);
        BOOST_TEST(!info.knows_waiters);
    }

    BOOST_TEST(root.ask("GRANT SELECT ON redlock.* TO looker@'127.0.0.1'") == "");
    lock_manager again(r.context, on("mysql://looker@" + rest));
    auto const [ec, info] = r.wait_for<lock_info>([&](auto done) { again.async_inspect("stock", std::move(done)); });
    BOOST_TEST(info.owner == "web-1");
    BOOST_TEST((info.knows_readers && info.knows_waiters));
    BOOST_TEST(!r.release(held));
}

BOOST_AUTO_TEST_CASE(list_without_the_right_to_select_names_the_grant)
{
    auto const rest = fmt::format("127.0.0.1:{}/redlock?table=listed&timeout=10s", server().port());
    lock_manager mine(r.context, on("mysql://redlock@" + rest));
    auto held = hold(r, mine, "stock", {.ttl = 60s});
    mariadb_client root(server());
    BOOST_TEST(root.ask("CREATE USER lister@'127.0.0.1'; GRANT EXECUTE ON redlock.* TO lister@'127.0.0.1'") == "");
    auto const list = [&] {
        lock_manager looks(r.context, on("mysql://lister@" + rest, {.read_only = true}));
        return r.wait_for<lock_page>([&](auto done) { looks.async_list("*", std::move(done)); });
    };
    auto const [ec, page] = list();
    BOOST_TEST((ec == errc::no_quorum));
    BOOST_TEST((page.nodes.at(0).error == errc::permission_denied));
    auto const& message = page.nodes[0].message;
    auto const at = message.find("GRANT ");
    BOOST_TEST_REQUIRE(at != message.npos, message);

    BOOST_TEST(root.ask(message.substr(at)) == "");
    auto const [none, granted] = list();
    BOOST_TEST(!none, none.message());
    BOOST_TEST_REQUIRE(granted.locks.size() == 1u);
    BOOST_TEST(granted.locks[0].resource == "stock");
    BOOST_TEST(!r.release(held));
}

BOOST_AUTO_TEST_CASE(list_and_inspect_at_a_read_only_server_succeed)
{
    mariadb_server s;
    lock_manager mine(r.context, on(s.url("?timeout=10s"), {.owner = "web-1", .restart_guard = restart_guard::off}));
    auto held = hold(r, mine, "stock", {.ttl = 60s});
    mariadb_client root(s);
    BOOST_TEST(root.ask("CREATE USER app@'127.0.0.1'; GRANT SELECT ON redlock.* TO app@'127.0.0.1'; "
                        "GRANT EXECUTE ON PROCEDURE redlock.redlock_version TO app@'127.0.0.1'; "
                        "SET GLOBAL read_only = 1")
               == "");
    lock_manager looks(r.context,
                       on(fmt::format("mysql://app@127.0.0.1:{}/redlock?timeout=10s", s.port()), {.read_only = true}));
    auto const [ec, page] = r.wait_for<lock_page>([&](auto done) { looks.async_list("*", std::move(done)); });
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST_REQUIRE(page.locks.size() == 1u);
    BOOST_TEST(page.locks[0].owner == "web-1");
    auto const [none, info] = r.wait_for<lock_info>([&](auto done) { looks.async_inspect("stock", std::move(done)); });
    BOOST_TEST(info.owner == "web-1");
    BOOST_TEST((info.knows_readers && info.knows_waiters));
    BOOST_TEST(root.ask("SET GLOBAL read_only = 0") == "");
    // The manager may have noticed that the server was read-only, and reconnects.
    BOOST_TEST(r.run_to([&] { return !r.extend(held, 60s); }));
    BOOST_TEST(!r.release(held));
}

BOOST_AUTO_TEST_CASE(async_acquire_that_waits_polls_without_writing)
{
    mariadb_client db(server());
    lock_manager mine(r.context, on(server().url("?connections=1"))),
        others(r.context, on(server().url("?connections=1")));
    auto won = r.acquire(mine, "stock", {.ttl = 60s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    real_servers::outcome waiter;
    r.start_acquire(waiter, others, "stock", {.ttl = 20s, .wait = wait_forever, .explain = true});
    auto const wishes = [&] { return db.ask("SELECT COUNT(*) FROM redlock_wish WHERE lock_key = 'lock:stock'"); };
    BOOST_TEST(r.run_to([&] { return wishes() == "1"; }));
    auto const written = [&] { return db.ask("SELECT expires FROM redlock_wish WHERE lock_key = 'lock:stock'"); };
    auto const asked = [&] {
        return std::stol(db.ask(
            "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'com_call_procedure'"));
    };
    auto const written_before = written();
    auto const asked_before = asked();
    BOOST_TEST(r.run_to([&] { return asked() > asked_before + 3; }));
    BOOST_TEST(written() == written_before);
    BOOST_TEST(!waiter.done);
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(r.run_to([&] { return waiter.done; }));
    BOOST_TEST(!waiter.ec);
    BOOST_TEST(!r.release(waiter.held));
    BOOST_TEST(r.run_to([&] { return wishes() == "0"; }));
}

BOOST_AUTO_TEST_CASE(acquire_after_a_failover_waits_for_the_quarantine)
{
    mariadb_server primary({"--log-bin", "--sync-binlog=1", "--server-id=1"});
    mariadb_server replica({"--log-bin", "--sync-binlog=1", "--server-id=2", "--read-only"});
    mariadb_client follower(replica);
    BOOST_TEST(follower.ask(fmt::format("CHANGE MASTER TO master_host = '127.0.0.1', master_port = {}, master_user = "
                                        "'redlock', master_use_gtid = slave_pos;"
                                        "START SLAVE",
                                        primary.port()))
               == "");
    auto const settings = on(primary.url(), {.max_ttl = 60s, .restart_guard = restart_guard::strict});
    lock_manager mine(r.context, settings), late(r.context, settings);
    // Succeeds only when the tables are old enough.
    BOOST_TEST(!r.release(acquire_after_quarantine(r, mine, "stock", {.ttl = 6s, .wait = 20s}).held));
    BOOST_TEST((r.attempt(on(replica.url())).report.nodes.at(0).error == errc::node_read_only));
    auto won = r.acquire(mine, "stock", {.ttl = 6s});
    BOOST_TEST(!won.ec);
    BOOST_TEST(r.run_to([&] { return follower.ask("CALL redlock_locks()") == "lock:stock" || !won.held.held(); }));
    primary.kill();
    // As if the replica had not received the lock.
    BOOST_TEST(follower.ask("STOP SLAVE; RESET SLAVE ALL; DELETE FROM redlock") == "");
    replica.kill();
    auto const promoted = clock::now();
    replica.start_at(primary.port());
    mariadb_client(replica).ask("SET GLOBAL read_only = 0");
    for (auto* const locks : {&late, &mine})  // the first manager did not know the primary, the second one did
        wait_for_quarantine(r, *locks, "stock", {.ttl = 6s});
    for (auto* const locks : {&late, &mine}) {
        BOOST_TEST(!r.release(acquire_after_quarantine(r, *locks, "stock", {.ttl = 6s, .wait = 20s}).held));
        BOOST_TEST((clock::now() - promoted >= 59s));
    }
    replica.kill();
    primary.start();  // the old primary comes back, and does not know of the new one
    BOOST_TEST(r.run_to([&] {
        auto const tried = r.acquire(mine, "stock", {.ttl = 6s});
        BOOST_TEST(tried.ec.failed());
        return tried.report.nodes.at(0).error == errc::node_read_only;
    }));
}

BOOST_AUTO_TEST_CASE(owns_in_a_transaction_fails_without_the_lock)
{
    mariadb_client db(server()), other(server());
    lock_manager locks(r.context, on(server().url()));
    db.ask("CREATE TABLE sold (item TEXT)");
    auto const sell = [&](lock const& held) {
        auto const s = owns(redlock::mysql_options(), held);
        BOOST_TEST(s.text == "CALL redlock_owns(UNHEX(?), UNHEX(?))");
        auto const said = db.ask(fmt::format("START TRANSACTION; CALL redlock_owns(UNHEX('{}'), UNHEX('{}'))",
                                             s.parameters[0], s.parameters[1]));
        if (said == "")
            db.ask("INSERT INTO sold VALUES ('hat')");
        return said;
    };
    auto won = r.wait_for<lock>([&](auto done) {
        locks.async_acquire({"hat", "coat"}, {.ttl = 20s}, std::move(done));
    });
    BOOST_REQUIRE(!won.first);
    BOOST_TEST(sell(won.second) == "");
    other.ask("SET SESSION innodb_lock_wait_timeout = 0");
    BOOST_TEST(other.ask("UPDATE redlock SET value = 'x' WHERE lock_key = 'lock:hat'")
                   .starts_with("error: Lock wait timeout"));  // nobody else can change the row
    db.ask("COMMIT");
    auto const late = won.second.token();
    BOOST_TEST(!r.release(won.second));
    BOOST_TEST(db.ask(fmt::format("START TRANSACTION; CALL redlock_owns('0008lock:hat', '{}')", late))
               == "error: a lock is not held any more");
    BOOST_TEST(sell(won.second) == "error: a lock is not held any more");  // the handle holds nothing any more
    db.ask("ROLLBACK");

    auto reader = r.acquire(locks, "prices", {.ttl = 20s, .mode = mode::shared});
    BOOST_TEST(sell(reader.held) == "");
    db.ask("COMMIT");
    BOOST_TEST(db.ask("START TRANSACTION; CALL redlock_owns('0011lock:prices', 'x')")
               == "error: a lock is not held any more");
    db.ask("ROLLBACK");
    BOOST_TEST(!r.release(reader.held));
    BOOST_TEST(db.ask("SELECT COUNT(*) FROM sold") == "2");
    BOOST_TEST(owns({.table = "locks"}, won.second).text == "CALL locks_owns(UNHEX(?), UNHEX(?))");
}

BOOST_AUTO_TEST_CASE(redlock_clean_deletes_expired_rows_and_keeps_counters)
{
    mariadb_client db(server());
    lock_manager locks(r.context, on(server().url("?table=cleaned")));
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    BOOST_TEST(
        db.ask("INSERT INTO cleaned (lock_key, expires, counter) VALUES ('old', UTC_TIMESTAMP(6) - INTERVAL 2 HOUR, "
               "0), ('numbered', '1000-01-01', 7), "
               "('taken', UTC_TIMESTAMP(6) + INTERVAL 1 HOUR, 0), ('young', UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE, 0);"
               "INSERT INTO cleaned_tombstone VALUES ('old', 'v', UTC_TIMESTAMP(6) - INTERVAL 1 SECOND), ('young', "
               "'v', UTC_TIMESTAMP(6) + INTERVAL 1 MINUTE);"
               "INSERT INTO cleaned_reader VALUES ('old', 'v', UTC_TIMESTAMP(6) - INTERVAL 2 HOUR), ('taken', 'v', "
               "UTC_TIMESTAMP(6) + INTERVAL 1 HOUR);"
               "INSERT INTO cleaned_wish VALUES ('old', 'c', 0, UTC_TIMESTAMP(6) - INTERVAL 2 HOUR), ('taken', 'c', 0, "
               "UTC_TIMESTAMP(6) + INTERVAL 1 HOUR)")
        == "");
    BOOST_TEST(db.ask("CALL cleaned_clean()") == "");
    auto const left = [&](std::string const& table) {
        return db.ask("SELECT GROUP_CONCAT(lock_key ORDER BY lock_key) FROM cleaned" + table + " WHERE lock_key <> ''");
    };  // each check of the server creates the row without a lock again
    BOOST_TEST(left("") == "numbered,taken,young");
    BOOST_TEST(left("_tombstone") == "young");
    BOOST_TEST(left("_reader") == "taken");
    BOOST_TEST(left("_wish") == "taken");
}

BOOST_AUTO_TEST_SUITE_END()
