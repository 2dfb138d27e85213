// The manager's locks on a real database, alone and beside other nodes.

#include "support/mariadb.hpp"
#include "support/quarantine.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(locks_in_mysql, *only_with_mariadb())

namespace {

config on(std::string const& url, config c = {})
{
    c.nodes.push_back(url);
    c.stores = {mysql()};
    if (c.node_timeout == config().node_timeout)
        c.node_timeout = patience;
    return c;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_lock_is_seen_in_the_database_and_gone_when_it_is_given_back)
{
    real_servers r(0);
    mariadb_client db(database());
    lock_manager locks(r.context, on(database().url("?table=seen"), {.owner = "me"}));
    auto won = r.acquire(locks, "stock", {.ttl = 20s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    BOOST_TEST(db.ask("CALL seen_locks()") == "lock:stock");
    BOOST_TEST(db.ask("SELECT SUBSTRING_INDEX(value, ':', -1) FROM seen WHERE lock_key = 'lock:stock'") == "me");
    BOOST_TEST(!r.extend(won.held, 40s));
    BOOST_TEST(db.ask("SELECT expires > UTC_TIMESTAMP(6) + INTERVAL 30 SECOND FROM seen WHERE lock_key = 'lock:stock'") == "1");
    BOOST_TEST((r.acquire(locks, "stock").ec == errc::contended));
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(db.ask("CALL seen_locks()") == "");
}

BOOST_AUTO_TEST_CASE(who_waits_asks_now_and_then_and_changes_nothing_by_it)
{
    real_servers r(0);
    mariadb_client db(database());
    lock_manager mine(r.context, on(database().url("?connections=1"))), others(r.context, on(database().url("?connections=1")));
    auto won = r.acquire(mine, "stock", {.ttl = 60s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    real_servers::outcome waiter;
    r.start_acquire(waiter, others, "stock", {.ttl = 20s, .wait = wait_forever, .report = &waiter.report});
    auto const wishes = [&] { return db.ask("SELECT COUNT(*) FROM redlock_wish WHERE lock_key = 'lock:stock'"); };
    BOOST_TEST(r.run_to([&] { return wishes() == "1"; }));
    auto const written = [&] { return db.ask("SELECT expires FROM redlock_wish WHERE lock_key = 'lock:stock'"); };
    auto const asked = [&] { return std::stol(db.ask("SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'com_call_procedure'")); };
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

BOOST_AUTO_TEST_CASE(numbers_grow_whoever_holds_and_over_a_restart)
{
    mariadb_server s;
    real_servers r(0);
    std::uint64_t last = 0;
    for (int i = 0; i < 3; ++i) {
        lock_manager locks(r.context, on(s.url(), {.node_timeout = 1s, .fencing = true, .restart_guard = restart_guard::off}));
        for (int k = 0; k < 3; ++k) {
            auto won = r.acquire(locks, "stock", {.ttl = 1500ms, .wait = 20s});
            BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
            BOOST_TEST(won.held.fencing_token() > last);
            last = won.held.fencing_token();
            BOOST_TEST(!r.release(won.held));
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
    BOOST_TEST(!r.release(r.acquire(others, "prices", {.ttl = 20s, .wait = 20s, .mode = mode::shared}).held));
    BOOST_TEST(!r.release(one.held));
}

BOOST_AUTO_TEST_CASE(beside_redis_each_has_one_vote)
{
    mariadb_server s({"--innodb-flush-log-at-trx-commit=0"});
    mariadb_client db(s);
    real_servers r(2);
    auto const settings = on(s.url(), r.settings({.restart_guard = restart_guard::off}));
    lock_manager mine(r.context, settings), others(r.context, settings);
    r.connect(mine);  // or two Redis servers would do
    auto won = r.acquire(mine, "stock", {.ttl = 60s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    BOOST_TEST(won.report.nodes.size() == 3u);
    BOOST_TEST(r.run_to([&] { return db.ask("CALL redlock_locks()") == "lock:stock"; }));
    r[0].kill();
    BOOST_TEST((r.acquire(others, "stock").ec == errc::contended));
    BOOST_TEST(!r.extend(won.held, 60s));  // by the other Redis and the database
    BOOST_TEST(!r.release(won.held));
}

BOOST_AUTO_TEST_CASE(one_server_has_one_vote)
{
    real_servers r(0);
    auto settings = on(database().url());
    settings.nodes.push_back(database().url("?table=twice"));
    settings.nodes.push_back("memory://third");
    lock_manager locks(r.context, settings);
    BOOST_TEST(r.run_to([&] {
        auto const tried = r.acquire(locks, "stock");
        return std::count_if(tried.report.nodes.begin(), tried.report.nodes.end(), [](auto& n) { return n.error == errc::duplicate_node; }) == 1;
    }));
}

BOOST_AUTO_TEST_CASE(a_replica_that_takes_its_servers_place_does_not_vote_until_what_it_may_have_forgotten_is_over)
{
    mariadb_server primary({"--log-bin", "--sync-binlog=1", "--server-id=1"});
    mariadb_server replica({"--log-bin", "--sync-binlog=1", "--server-id=2", "--read-only"});
    mariadb_client follower(replica);
    BOOST_TEST(follower.ask(fmt::format("CHANGE MASTER TO master_host = '127.0.0.1', master_port = {}, master_user = 'redlock', master_use_gtid = slave_pos;"
                                        "START SLAVE", primary.port())) == "");
    real_servers r(0);
    auto const settings = on(primary.url(), {.max_ttl = 60s, .restart_guard = restart_guard::strict});
    lock_manager mine(r.context, settings), late(r.context, settings);
    BOOST_TEST(!r.release(acquire_after_quarantine(r, mine, "stock", {.ttl = 6s, .wait = 20s}).held));  // once the tables are old enough
    BOOST_TEST((r.attempt(on(replica.url())).report.nodes.at(0).error == errc::node_read_only));
    auto won = r.acquire(mine, "stock", {.ttl = 6s});
    BOOST_TEST(!won.ec);
    BOOST_TEST(r.run_to([&] { return follower.ask("CALL redlock_locks()") == "lock:stock" || !won.held.held(); }));
    primary.kill();
    BOOST_TEST(follower.ask("STOP SLAVE; RESET SLAVE ALL; DELETE FROM redlock") == "");  // as if it had not heard of the lock
    replica.kill();
    auto const promoted = clock::now();
    replica.start_at(primary.port());
    mariadb_client(replica).ask("SET GLOBAL read_only = 0");
    for (auto* const locks : {&late, &mine})  // one that did not know the primary, and one that did
        wait_for_quarantine(r, *locks, "stock", {.ttl = 6s});
    for (auto* const locks : {&late, &mine}) {
        BOOST_TEST(!r.release(acquire_after_quarantine(r, *locks, "stock", {.ttl = 6s, .wait = 20s}).held));
        BOOST_TEST((clock::now() - promoted >= 59s));
    }
    replica.kill();
    primary.start();  // it comes back, and knows nothing of that
    BOOST_TEST(r.run_to([&] {
        auto const tried = r.acquire(mine, "stock", {.ttl = 6s});
        BOOST_TEST(tried.ec.failed());
        return tried.report.nodes.at(0).error == errc::node_read_only;
    }));
}

BOOST_AUTO_TEST_CASE(a_transaction_of_ones_own_fails_without_the_lock)
{
    real_servers r(0);
    mariadb_client db(database()), other(database());
    lock_manager locks(r.context, on(database().url()));
    db.ask("CREATE TABLE sold (item TEXT)");
    auto const sell = [&](lock const& held) {
        auto const s = owns(redlock::mysql_options(), held);
        BOOST_TEST(s.text == "CALL redlock_owns(UNHEX(?), UNHEX(?))");
        auto const said = db.ask(fmt::format("START TRANSACTION; CALL redlock_owns(UNHEX('{}'), UNHEX('{}'))", s.parameters[0], s.parameters[1]));
        if (said == "")
            db.ask("INSERT INTO sold VALUES ('hat')");
        return said;
    };
    auto won = r.wait_for<lock>([&](auto done) { locks.async_acquire({"hat", "coat"}, {.ttl = 20s}, std::move(done)); });
    BOOST_REQUIRE(!won.first);
    BOOST_TEST(sell(won.second) == "");
    other.ask("SET SESSION innodb_lock_wait_timeout = 0");
    BOOST_TEST(other.ask("UPDATE redlock SET value = 'x' WHERE lock_key = 'lock:hat'").starts_with("error: Lock wait timeout"));  // nobody else can have it
    db.ask("COMMIT");
    auto const late = won.second.token();
    BOOST_TEST(!r.release(won.second));
    BOOST_TEST(db.ask(fmt::format("START TRANSACTION; CALL redlock_owns('0008lock:hat', '{}')", late)) == "error: a lock is not held any more");
    BOOST_TEST(sell(won.second) == "error: a lock is not held any more");  // of nothing
    db.ask("ROLLBACK");

    auto reader = r.acquire(locks, "prices", {.ttl = 20s, .mode = mode::shared});
    BOOST_TEST(sell(reader.held) == "");
    db.ask("COMMIT");
    BOOST_TEST(db.ask("START TRANSACTION; CALL redlock_owns('0011lock:prices', 'x')") == "error: a lock is not held any more");
    db.ask("ROLLBACK");
    BOOST_TEST(!r.release(reader.held));
    BOOST_TEST(db.ask("SELECT COUNT(*) FROM sold") == "2");
    BOOST_TEST(owns({.table = "locks"}, won.second).text == "CALL locks_owns(UNHEX(?), UNHEX(?))");
}

BOOST_AUTO_TEST_CASE(what_nobody_needs_is_cleaned_up_and_counters_stay)
{
    real_servers r(0);
    mariadb_client db(database());
    lock_manager locks(r.context, on(database().url("?table=cleaned")));
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    BOOST_TEST(db.ask("INSERT INTO cleaned (lock_key, expires, counter) VALUES ('old', UTC_TIMESTAMP(6) - INTERVAL 2 HOUR, 0), ('numbered', '1000-01-01', 7), "
                      "('taken', UTC_TIMESTAMP(6) + INTERVAL 1 HOUR, 0), ('young', UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE, 0);"
                      "INSERT INTO cleaned_tombstone VALUES ('old', 'v', UTC_TIMESTAMP(6) - INTERVAL 1 SECOND), ('young', 'v', UTC_TIMESTAMP(6) + INTERVAL 1 MINUTE);"
                      "INSERT INTO cleaned_reader VALUES ('old', 'v', UTC_TIMESTAMP(6) - INTERVAL 2 HOUR), ('taken', 'v', UTC_TIMESTAMP(6) + INTERVAL 1 HOUR);"
                      "INSERT INTO cleaned_wish VALUES ('old', 'c', 0, UTC_TIMESTAMP(6) - INTERVAL 2 HOUR), ('taken', 'c', 0, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR)") == "");
    BOOST_TEST(db.ask("CALL cleaned_clean()") == "");
    auto const left = [&](std::string const& table) { return db.ask("SELECT GROUP_CONCAT(lock_key ORDER BY lock_key) FROM cleaned" + table + " WHERE lock_key <> ''"); };  // the row of no lock comes back when servers are looked at
    BOOST_TEST(left("") == "numbered,taken,young");
    BOOST_TEST(left("_tombstone") == "young");
    BOOST_TEST(left("_reader") == "taken");
    BOOST_TEST(left("_wish") == "taken");
}

BOOST_AUTO_TEST_CASE(names_may_be_any_bytes_as_long_as_may_be)
{
    std::string const name = "it's \\ \xff" + std::string(1, '\0') + std::string(503, 'n'), owner(256, '\xfd');
    real_servers r(0);
    lock_manager locks(r.context, on(database().url("?table=long_names"), {.prefix = std::string(256, '\xfe'), .owner = owner, .fencing = true}));
    for (auto const m : {mode::exclusive, mode::shared, mode::upgradeable}) {
        auto won = r.acquire(locks, name, {.ttl = 20s, .mode = m});
        BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
        auto const [ec, info] = r.wait_for<lock_info>([&](auto done) { locks.async_inspect(name, std::move(done)); });
        BOOST_TEST(!ec);
        BOOST_TEST(info.owner == (m == mode::exclusive ? owner : ""));
        BOOST_TEST(!r.extend(won.held, 30s));
        BOOST_TEST(!r.release(won.held));
    }
    BOOST_TEST(!ask(database(), "CALL long_names_locks()").starts_with("error"));
}

BOOST_AUTO_TEST_SUITE_END()
