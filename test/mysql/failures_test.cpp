// What a database does to its users, and what these are told.

#include "support/certificates.hpp"
#include "support/lost_tables.hpp"
#include "support/mariadb.hpp"
#include "support/quarantine.hpp"
#include "support/real_servers.hpp"
#include "support/virtual_clock.hpp"
#include "testing/node_client.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(failures_of_mysql, *only_with_mariadb())

namespace {

constexpr auto those_who_wait = "information_schema.processlist WHERE info LIKE '%FOR UPDATE%' AND id <> CONNECTION_ID()";
constexpr auto hurried = "--innodb-flush-log-at-trx-commit=0";  // as if it flushed nothing, which counts as a server that forgets

constexpr auto galera = "/usr/lib/galera/libgalera_smm.so";

auto only_with_galera()
{
    return boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
        boost::test_tools::assertion_result can(std::filesystem::exists(galera));
        can.message() << "skipped: there is no Galera here (Debian's package galera-4)";
        return can;
    });
}

config on(std::string const& url, config c = {})
{
    c.nodes.push_back(url);
    c.stores = {mysql()};
    if (c.node_timeout == config().node_timeout)
        c.node_timeout = patience;
    return c;
}

std::string address_of(mariadb_server const& s, std::string const& who, std::string const& rest = {})
{
    return fmt::format("mysql://{}@127.0.0.1:{}/redlock{}", who, s.port(), rest);
}

// For what is about quarantine, which is waited for.
config const young{.node_timeout = 1s, .max_ttl = 2s, .restart_guard = restart_guard::strict};
constexpr std::chrono::milliseconds young_ttl = 1500ms;

// The error of the only node.
node_report look(real_servers::outcome const& tried)
{
    BOOST_TEST(tried.ec.failed());
    BOOST_REQUIRE(!tried.report.nodes.empty());
    return tried.report.nodes[0];
}

}  // namespace

BOOST_AUTO_TEST_CASE(addresses_that_are_wrong_are_refused_with_the_way_out_and_no_secret)
{
    auto const refused = [](std::string const& url) -> std::string {
        try {
            lock_manager(asio::system_executor(), {.nodes = {url}, .stores = {mysql()}});
        } catch (std::invalid_argument const& e) {
            return e.what();
        }
        return "taken";
    };
    auto const says = [&](std::string const& url, std::string const& words) {
        auto const said = refused(url);
        BOOST_TEST(said.find(words) != said.npos, url << ": " << said);
        BOOST_TEST(said.find("geheim") == said.npos, said);
    };
    says("mysql://h/db", "it has no user");
    says("mysql://:geheim@h/db", "it has no user");
    says("mysql://u:geheim@/db", "it has no host");
    says("mysql://u:geheim@h", "it has no database");
    says("mysql://u:geheim@h:port/db", "behind the host must be a port");
    says("mysql://u:geheim@h:65536/db", "behind the host must be a port");
    says("mysql://u:geheim/@h/db", "percent-encoded");
    says("mysql://u:geheim%zz@h/db", "two hexadecimal digits");
    says("mysql://u:x@geheim,h2/db", "percent-encoded");
    says("mysql://u:geheim@[::1/db", "must be ]");
    says("mysql://u:geheim@h/db?tabel=x", "it has a parameter that is none of table, connections");
    says("mysql://u:geheim@h/db?connections=many", "connections must be a number");
    says("mysql://u:geheim@h/db?connections=65", "connections is 65, but must be 1 to 64");
    says("mysql://u:geheim@h/db?timeout=500", "timeout must end with \"ms\" or \"s\"");
    says("mysql://u:geheim@h/db?timeout=0ms", "timeout is 0 ms, but must be 1 to 60000 ms");
    says("mysql://u:geheim@h/db?table=Locks", "table is \"Locks\"");
    says("mysql://u:geheim@h/db?table=a.b", "table is \"a.b\"");
    says("mysql://u:geheim@h/db?create_table=yes", "create_table must be on or off");
    says("mysql://u:geheim@h/db?tls=maybe", "tls must be on, off or unverified");
    says("mysql://u:geheim@h/db?tls=off&ssl_ca=ca.pem", "tls is off");
    says("mysql://u:geheim@h/db?ssl_key=geheim", "ssl_cert and ssl_key");
    says("mysql://u:geheim@h/db?socket=/s", "a socket stands in the place of the host");
    BOOST_TEST(refused("mariadb://u:geheim@[::1]:3307/db?table=locks&ssl_ca=ca.pem&timeout=2s&connections=8") == "taken");
    BOOST_CHECK_THROW(mysql({.connections = 0}), std::invalid_argument);
    BOOST_CHECK_THROW(mysql({.table = ""}), std::invalid_argument);
    lock_manager locks(asio::system_executor(), {.nodes = {"mysql://u:geheim@h/db?table=locks", "mysql://u:g%40@[::1]:7/db"}, .stores = {mysql()}});
    BOOST_TEST(locks.stats().nodes.at(0).name == "mysql://h:3306/db?table=locks");
    BOOST_TEST(locks.stats().nodes.at(1).name == "mysql://[::1]:7/db");
}

BOOST_AUTO_TEST_CASE(who_may_not_come_in_is_told_why)
{
    mariadb_server s({hurried});
    mariadb_client root(s);
    root.ask("CREATE USER app@'127.0.0.1' IDENTIFIED BY 'ge:he@im'; GRANT ALL ON redlock.* TO app@'127.0.0.1'; CREATE USER guest@'127.0.0.1'");
    real_servers r(0);
    auto const error_of = [&](std::string const& url) {
        auto const node = look(r.attempt(on(url)));
        BOOST_TEST(node.message.find("ge:he@im") == std::string::npos);
        return node.error;
    };
    BOOST_TEST(!r.attempt(on(address_of(s, "app:ge%3ahe%40im"))).ec);
    BOOST_TEST((error_of(address_of(s, "app:wrong-geheim")) == errc::authentication_failed));
    BOOST_TEST((error_of(address_of(s, "app")) == errc::authentication_failed));
    BOOST_TEST((error_of(address_of(s, "nobody:geheim")) == errc::authentication_failed));
    BOOST_TEST((error_of(address_of(s, "guest")) == errc::permission_denied));
    BOOST_TEST((error_of(fmt::format("mysql://redlock@127.0.0.1:{}/nowhere", s.port())) == errc::unsupported_server));
    BOOST_TEST((error_of(fmt::format("mysql://redlock@127.0.0.1:{}/redlock", testbed::free_port())) == errc::node_unreachable));
    BOOST_TEST((error_of("mysql://redlock@no-such-host.invalid/redlock") == errc::node_unreachable));
    BOOST_TEST((error_of("mysql://redlock@/redlock?socket=/no/such/file") == errc::node_unreachable));
}

BOOST_AUTO_TEST_CASE(the_rights_of_the_document_suffice_and_less_is_told)
{
    mariadb_server s({hurried});
    mariadb_client root(s);
    root.ask("CREATE USER maker@'127.0.0.1'; CREATE USER app@'127.0.0.1'; GRANT SELECT ON redlock.* TO app@'127.0.0.1'");
    real_servers r(0);
    auto const url = address_of(s, "app");
    BOOST_TEST((look(r.attempt(on(url))).error == errc::permission_denied));  // it may not even know whether they are there
    BOOST_TEST(root.ask("GRANT EXECUTE ON redlock.* TO app@'127.0.0.1'") == "");
    auto const unmade = look(r.attempt(on(url)));
    BOOST_TEST((unmade.error == errc::permission_denied));
    BOOST_TEST(unmade.message.find("its tables cannot be made") != std::string::npos, unmade.message);
    auto const missing = look(r.attempt(on(url + "?create_table=off")));
    BOOST_TEST((missing.error == errc::unsupported_server));
    BOOST_TEST(missing.message.find("docs/stores.md") != std::string::npos, missing.message);
    root.ask("REVOKE EXECUTE ON redlock.* FROM app@'127.0.0.1'");

    BOOST_TEST(root.ask("GRANT CREATE, CREATE ROUTINE, EXECUTE, SELECT, INSERT, UPDATE, DELETE ON redlock.* TO maker@'127.0.0.1'") == "");
    BOOST_TEST(!r.attempt(on(address_of(s, "maker"))).ec);
    BOOST_TEST((look(r.attempt(on(url))).error == errc::permission_denied));
    BOOST_TEST(root.ask("REVOKE SELECT ON redlock.* FROM app@'127.0.0.1'; GRANT EXECUTE ON redlock.* TO app@'127.0.0.1'") == "");
    lock_manager locks(r.context, on(url, {.fencing = true}));
    auto won = r.acquire(locks, "stock", {.ttl = 20s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    BOOST_TEST(!r.extend(won.held, 20s));
    BOOST_TEST((r.acquire(locks, "stock", {.ttl = 20s, .wait = 50ms}).ec == errc::contended));
    BOOST_TEST(!r.release(won.held));
    auto shared = r.acquire(locks, "stock", {.ttl = 20s, .wait = 20s, .mode = mode::shared});
    BOOST_TEST(!shared.ec, shared.report.message);
    BOOST_TEST(!r.release(shared.held));
    BOOST_TEST(mariadb_client(s, "app").ask("SELECT * FROM redlock").starts_with("error"));
}

BOOST_AUTO_TEST_CASE(acquire_without_rights_names_the_grant_that_is_enough)
{
    mariadb_server s({hurried});
    mariadb_client root(s);
    root.ask("CREATE USER guest@'%'; CREATE USER app@'127.0.0.1'; GRANT SELECT ON redlock.* TO app@'127.0.0.1'");
    real_servers r(0);
    for (auto const* const user : {"guest", "app"}) {
        auto tried = r.attempt(on(address_of(s, user, std::string("?table=of_") + user)));
        BOOST_TEST(tried.ec.failed());
        for (int grants = 0; tried.ec && grants < 3; ++grants) {
            auto const& message = tried.report.nodes.at(0).message;
            BOOST_TEST((tried.report.nodes[0].error == errc::permission_denied), message);
            auto const at = message.find("GRANT ");
            BOOST_REQUIRE_MESSAGE(at != message.npos, message);
            BOOST_TEST(root.ask(message.substr(at)) == "", message);
            tried = r.attempt(on(address_of(s, user, std::string("?table=of_") + user)));
        }
        BOOST_TEST(!tried.ec, tried.report.message);
    }
}

BOOST_AUTO_TEST_CASE(acquire_at_a_wrong_port_says_what_was_tried)
{
    real_servers r(0);
    auto const port = testbed::free_port();
    lock_manager locks(r.context, on(fmt::format("mysql://redlock@127.0.0.1:{}/redlock", port)));
    real_servers::outcome tried;
    auto const says = [&](std::string const& words) { return tried.report.message.find(words) != std::string::npos; };
    BOOST_TEST(r.run_to([&] {
        tried = r.acquire(locks, "stock");
        return says("refused") && says(std::to_string(port)) && says(" attempts)");
    }), tried.report.message);
}

BOOST_AUTO_TEST_CASE(a_member_of_a_galera_cluster_is_refused, *only_with_galera())
{
    auto const listens = fmt::format("gmcast.listen_addr=tcp://127.0.0.1:{}", testbed::free_port());
    mariadb_server s({hurried, "--wsrep-on=ON", fmt::format("--wsrep-provider={}", galera), "--wsrep-cluster-address=gcomm://", "--wsrep-node-address=127.0.0.1",
                      "--wsrep-provider-options=" + listens, "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2"});
    real_servers r(0);
    auto const said = look(r.attempt(on(s.url())));
    BOOST_TEST((said.error == errc::unsupported_server), said.error.message());
    BOOST_TEST(said.message.find("Galera") != std::string::npos, said.message);
}

BOOST_AUTO_TEST_CASE(a_database_that_is_killed_keeps_its_locks)
{
    mariadb_server s;
    real_servers r(0);
    lock_manager mine(r.context, on(s.url())), others(r.context, on(s.url()));
    auto won = r.acquire(mine, "stock", {.ttl = 60s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    s.kill();
    BOOST_TEST(r.extend(won.held, 60s).failed());
    s.start();
    BOOST_TEST(r.run_to([&] {
        auto const tried = r.acquire(others, "stock");
        BOOST_TEST(tried.ec.failed());
        return tried.ec == errc::contended;
    }));
    BOOST_TEST(r.run_to([&] { return !r.extend(won.held, 60s); }));
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(!r.release(r.acquire(others, "stock", {.ttl = 20s, .wait = 20s}).held));
}

BOOST_AUTO_TEST_CASE(a_database_that_may_forget_is_quarantined_when_it_comes_back)
{
    struct kind {
        std::vector<std::string> options;
        bool durable;
        mariadb_server server{options};
        std::unique_ptr<lock_manager> locks{};
    };
    kind kinds[] = {{{}, true}, {{hurried}, false}, {{"--log-bin", "--sync-binlog=1"}, true}, {{"--log-bin", "--sync-binlog=0"}, false}};
    real_servers r(0);
    for (auto& k : kinds)
        k.locks = std::make_unique<lock_manager>(r.context, on(k.server.url(), young));
    for (auto& k : kinds)
        BOOST_TEST(r.run_to([&] { return !r.release(r.acquire(*k.locks, "stock", {.ttl = young_ttl}).held); }));  // once the tables are old enough
    for (auto& k : kinds) {
        k.server.kill();
        k.server.start();
        bool quarantined = false;
        BOOST_TEST(r.run_to([&] {
            auto const tried = r.acquire(*k.locks, "stock", {.ttl = young_ttl});
            quarantined = quarantined || tried.ec == errc::quarantined;
            return !tried.ec;
        }));
        BOOST_TEST(quarantined == !k.durable);
    }
}

BOOST_AUTO_TEST_CASE(acquire_after_a_restart_that_undid_a_setting_is_quarantined)
{
    mariadb_server s;
    real_servers r(0);
    lock_manager locks(r.context, on(s.url(), {.max_ttl = 5s, .restart_guard = restart_guard::strict}));
    // Once the tables are old enough.
    BOOST_TEST(r.run_to([&] { return !r.release(r.acquire(locks, "stock", {.ttl = 4s}).held); }));
    BOOST_TEST(ask(s, "SET GLOBAL innodb_flush_log_at_trx_commit = 0") == "");
    auto const looks = [&] {
        return std::stol(ask(s, "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'com_show_variables'"));
    };
    auto const before = looks();
    BOOST_TEST(r.run_to([&] { return looks() >= before + 2; }));  // the answer to the first has come
    s.kill();
    s.start();  // it flushes again
    wait_for_quarantine(r, locks, "stock", {.ttl = 4s});
    BOOST_TEST(ask(s, "SELECT @@innodb_flush_log_at_trx_commit") == "1");
}

BOOST_AUTO_TEST_CASE(a_loss_is_told_before_the_end_while_the_database_stands_still)
{
    mariadb_server s({hurried});
    real_servers r(0);
    auto settings = on(s.url("?timeout=200ms"));
    settings.node_timeout = 200ms;
    lock_manager locks(r.context, settings);
    auto won = r.acquire(locks, "stock", {.ttl = 3s, .wait = 20s, .renew = renewal::automatic});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    s.pause();
    bool lost = false;
    won.held.async_wait_lost([&](error_code ec) {
        lost = true;
        BOOST_TEST((ec == errc::lost));
    });
    BOOST_TEST(r.run_to([&] { return lost; }));
    BOOST_TEST((clock::now() <= won.held.valid_until() || won.held.valid_until() == clock::time_point()));
    s.resume();
    BOOST_TEST(r.run_to([&] { return !r.acquire(locks, "other").ec; }));
}

BOOST_AUTO_TEST_CASE(what_is_killed_in_the_database_leaves_nothing_behind)
{
    mariadb_server s({hurried});
    mariadb_client root(s), holder(s);
    real_servers r(0);
    lock_manager locks(r.context, on(s.url("?connections=1&timeout=5s")));
    BOOST_TEST(!r.release(r.wait_for<lock>([&](auto done) { locks.async_acquire({"a", "b"}, {.ttl = 60s}, std::move(done)); }).second));
    // Of two rows it locks the first, and waits for the second.
    BOOST_TEST(holder.ask("START TRANSACTION; SELECT COUNT(*) FROM redlock WHERE lock_key = 'lock:b' FOR UPDATE") == "1");
    auto const waits = [&] { return root.ask(std::string("SELECT COALESCE(MAX(id), 0) FROM ") + those_who_wait); };
    for (bool const connection : {false, true}) {
        std::optional<error_code> outcome;
        bool killed = false;
        locks.async_acquire({"a", "b"}, {.ttl = 60s}, [&](error_code ec, lock) { outcome = ec; });
        BOOST_TEST(r.run_to([&] {  // again, if the statement that was seen had ended by then
            if (auto const waiter = waits(); waiter != "0") {
                killed |= root.ask(fmt::format("KILL {} {}", connection ? "CONNECTION" : "QUERY", waiter)) == "";
            }
            return outcome.has_value();
        }));
        BOOST_TEST(killed);
        BOOST_TEST((outcome == errc::no_quorum));
        BOOST_TEST(r.run_to([&] { return root.ask("START TRANSACTION; SELECT COUNT(*) FROM redlock WHERE lock_key = 'lock:a' FOR UPDATE NOWAIT; ROLLBACK; SELECT 1") == "1"; }));
    }
    holder.ask("ROLLBACK");
    BOOST_TEST(r.run_to([&] { return !r.release(r.acquire(locks, "b", {.ttl = 60s}).held); }));
}

BOOST_AUTO_TEST_CASE(a_lock_of_the_database_in_the_way_is_an_error_and_no_hang)
{
    mariadb_server s({hurried});
    mariadb_client other(s);
    real_servers r(0);
    lock_manager locks(r.context, on(s.url("?timeout=200ms")));
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    for (auto const* const lock : {"LOCK TABLES redlock WRITE", "START TRANSACTION; SELECT * FROM redlock FOR UPDATE"}) {
        other.ask(lock);
        BOOST_TEST(r.run_to([&] {
            auto const tried = r.acquire(locks, "stock");
            return tried.ec == errc::no_quorum && tried.report.nodes.at(0).error == errc::node_busy;
        }));
        other.ask("ROLLBACK; UNLOCK TABLES");
        BOOST_TEST(r.run_to([&] { return !r.release(r.acquire(locks, "stock").held); }));
    }
}

BOOST_AUTO_TEST_CASE(time_goes_on_while_a_row_is_waited_for)
{
    mariadb_server s({hurried});
    mariadb_client other(s);
    testing::client node({.make = [&] { return make_mysql_node(s.url("?timeout=20s")); }});
    BOOST_TEST(node.acquires({"stock"}, "v", std::chrono::hours(1)));
    BOOST_TEST(other.ask("START TRANSACTION; SELECT value FROM redlock WHERE lock_key = 'stock' FOR UPDATE") == "v");
    auto const waiter = node.put({.what = node_command::kind::acquire, .contender = "me", .ttl = 60s}, {"stock"}, "w");
    node.run_to([&] { return other.ask(std::string("SELECT COUNT(*) FROM ") + those_who_wait) == "1"; }, "nobody waits");
    other.ask("UPDATE redlock SET expires = UTC_TIMESTAMP(6) WHERE lock_key = 'stock'");  // after it has come
    BOOST_TEST(waiter->answers == 0);
    other.ask("COMMIT");
    BOOST_TEST((node.answer_of(waiter).vote == vote::granted));
    BOOST_TEST(other.ask("SELECT expires > UTC_TIMESTAMP(6) AND expires <= UTC_TIMESTAMP(6) + INTERVAL 60 SECOND FROM redlock WHERE lock_key = 'stock'") == "1");
}

BOOST_AUTO_TEST_CASE(who_comes_to_rows_that_are_not_there_yet_waits_for_nobody_in_a_circle)
{
    mariadb_server s({hurried});
    real_servers r(0);
    std::vector<std::unique_ptr<lock_manager>> managers;
    for (int i = 0; i < 4; ++i)
        managers.push_back(std::make_unique<lock_manager>(r.context, on(s.url("?connections=4&timeout=10s"), {.node_timeout = 10s})));
    for (auto& m : managers)
        BOOST_TEST(!r.release(r.acquire(*m, "warm-up", {.ttl = 60s, .wait = 20s}).held));
    std::size_t done = 0, lost = 0;
    for (int round = 0; round < 100; ++round) {
        for (std::size_t i = 0; i < 16; ++i) {
            auto const name = [&](std::size_t n) { return fmt::format("{}:{}", round, n % 3); };
            auto const outcome = [&](error_code ec, lock) {
                ++done;
                lost += ec && ec != errc::contended;
            };
            if (i % 3 == 0)
                managers[i % 4]->async_acquire_any({name(i + 2), name(i), name(i + 1)}, {.ttl = 60s}, outcome);
            else
                managers[i % 4]->async_acquire(i % 3 == 1 ? resource_set{name(i)} : resource_set{name(i), name(i + 1)}, {.ttl = 60s}, outcome);
        }
        BOOST_TEST(r.run_to([&] { return done == 16u * static_cast<std::size_t>(round + 1); }));
    }
    BOOST_TEST(lost == 0u);
    BOOST_TEST(ask(s, "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'innodb_deadlocks'") == "0");
}

BOOST_AUTO_TEST_CASE(many_that_come_first_at_the_same_time_find_one_set_of_tables)
{
    mariadb_server s({hurried});
    real_servers r(0);
    std::vector<std::unique_ptr<lock_manager>> managers;
    std::vector<real_servers::outcome> outcomes(6);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        managers.push_back(std::make_unique<lock_manager>(r.context, on(s.url("?connections=3&timeout=5s"))));
        r.start_acquire(outcomes[i], *managers.back(), "stock" + std::to_string(i), {.ttl = 30s, .wait = 20s, .report = &outcomes[i].report});
    }
    BOOST_TEST(r.run_to([&] { return std::all_of(outcomes.begin(), outcomes.end(), [](auto& o) { return o.done; }); }, 30s));
    for (auto& o : outcomes)
        BOOST_TEST(!o.ec, o.report.message);
    for (auto& o : outcomes)
        BOOST_TEST(!r.release(o.held));
    for (auto& m : managers)
        BOOST_TEST(!r.release(r.acquire(*m, "stock", {.ttl = 30s, .wait = 20s}).held));
    BOOST_TEST(ask(s, "SELECT COUNT(*) FROM redlock_server") == "1");
}

BOOST_AUTO_TEST_CASE(tables_that_are_dropped_are_made_again_and_have_forgotten)
{
    for (auto const* const loss : {"DROP TABLE redlock, redlock_reader, redlock_wish, redlock_tombstone, redlock_server; DROP PROCEDURE redlock_version",
                                   "DROP TABLE redlock"}) {
        mariadb_server s({hurried});
        real_servers r(0);
        lock_manager mine(r.context, on(s.url(), {.max_ttl = 5s, .restart_guard = restart_guard::strict}));
        BOOST_TEST(r.run_to([&] { return !r.acquire(mine, "stock", {.ttl = 4s}).ec; }));  // once the tables are old enough
        auto const begun = clock::now();
        BOOST_TEST(ask(s, loss) == "");
        BOOST_TEST(r.run_to([&] { return clock::now() - begun > 1s && !r.acquire(mine, "stock", {.ttl = 4s}).ec; }));
        BOOST_TEST((clock::now() - begun >= 4s));  // create_time has whole seconds
    }
}

BOOST_AUTO_TEST_CASE(acquire_after_the_loss_of_tables_is_quarantined)
{
    mariadb_server s({hurried});
    real_servers r(0);
    char const* const losses[] = {
        "DROP TABLE {0}",
        "TRUNCATE {0}",
        "DELETE FROM {0}",
        "TRUNCATE {0}_tombstone; TRUNCATE {0}_reader; TRUNCATE {0}",
        "DROP TABLE {0}, {0}_reader, {0}_wish, {0}_tombstone, {0}_server",
        "TRUNCATE {0}; TRUNCATE {0}_reader; TRUNCATE {0}_wish; TRUNCATE {0}_tombstone; TRUNCATE {0}_server",
    };
    for (auto const* const& loss : losses) {
        BOOST_TEST_CONTEXT(loss)
        check_quarantine_after(r, on(s.url(fmt::format("?table=t{}", &loss - losses))), [&] {
            BOOST_TEST(ask(s, fmt::format(fmt::runtime(loss), fmt::format("t{}", &loss - losses))) == "");
        });
    }
}

BOOST_AUTO_TEST_CASE(acquire_after_an_older_dump_was_restored_is_quarantined)
{
    mariadb_server s({hurried});
    real_servers r(0);
    BOOST_TEST(!r.attempt(on(s.url())).ec);
    std::string kept, restored = "SELECT SLEEP(1.1);";  // create_time has whole seconds
    for (auto const* const table : {"redlock", "redlock_reader", "redlock_tombstone", "redlock_server"}) {
        kept += fmt::format("CREATE TABLE kept_{0} LIKE {0}; INSERT INTO kept_{0} SELECT * FROM {0};", table);
        restored += fmt::format("DROP TABLE {0}; CREATE TABLE {0} LIKE kept_{0}; INSERT INTO {0} SELECT * FROM kept_{0};", table);
    }
    BOOST_TEST(ask(s, kept) == "");
    lock_manager mine(r.context, on(s.url()));
    auto const won = r.acquire(mine, "stock", {.ttl = 20s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    BOOST_TEST(ask(s, restored) == "0");
    lock_manager late(r.context, on(s.url()));
    BOOST_TEST((r.acquire(late, "stock", {.ttl = 20s}).ec == errc::quarantined));
}

BOOST_AUTO_TEST_CASE(a_server_that_may_not_be_written_to_is_refused_and_so_is_one_that_becomes_like_that)
{
    mariadb_server s({hurried});
    mariadb_client root(s);
    real_servers r(0);
    lock_manager locks(r.context, on(s.url()));
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    BOOST_TEST(root.ask("SET GLOBAL read_only = 1") == "");
    BOOST_TEST((look(r.attempt(on(s.url()))).error == errc::node_read_only));
    for (int i = 0; i < 10 && locks.stats().nodes.at(0).connected; ++i) {
        skip_time(1s);  // it looks now and then
        r.context.restart();
        r.context.run_for(50ms);
    }
    BOOST_TEST(r.run_to([&] { return !locks.stats().nodes.at(0).connected; }));
    BOOST_TEST((look(r.acquire(locks, "stock", {.ttl = 20s})).error == errc::node_read_only));
    root.ask("SET GLOBAL read_only = 0");
    BOOST_TEST(r.run_to([&] { return !r.release(r.acquire(locks, "stock").held); }));
}

BOOST_AUTO_TEST_CASE(a_log_of_statements_is_refused)
{
    mariadb_server s({hurried, "--log-bin", "--binlog-format=STATEMENT"});
    real_servers r(0);
    auto const node = look(r.attempt(on(s.url())));
    BOOST_TEST((node.error == errc::unsupported_server));
    BOOST_TEST(node.message.find("binlog_format") != std::string::npos, node.message);
}

BOOST_AUTO_TEST_CASE(what_the_server_has_set_for_its_users_does_no_harm)
{
    mariadb_server s({hurried, "--transaction-isolation=SERIALIZABLE", "--sql-mode=ORACLE,ANSI_QUOTES,SIMULTANEOUS_ASSIGNMENT", "--autocommit=0", "--default-time-zone=+05:30",
                      "--character-set-server=utf16", "--lower-case-table-names=1"});
    real_servers r(0);
    lock_manager locks(r.context, on(s.url()));
    for (int i = 0; i < 20; ++i)
        BOOST_TEST(!r.release(r.acquire(locks, "stock", {.ttl = 20s, .wait = 20s}).held));
    auto const won = r.acquire(locks, "stock", {.ttl = 20s});
    BOOST_TEST(ask(s, "SELECT COUNT(*) FROM redlock WHERE expires > UTC_TIMESTAMP(6) AND expires < UTC_TIMESTAMP(6) + INTERVAL 21 SECOND") == "1");
}

BOOST_AUTO_TEST_CASE(fewer_connections_than_wished_for_do)
{
    mariadb_server s({hurried});
    mariadb_client root(s);
    root.ask("CREATE USER app@'127.0.0.1' WITH MAX_USER_CONNECTIONS 2; GRANT ALL ON redlock.* TO app@'127.0.0.1'");
    real_servers r(0);
    lock_manager locks(r.context, on(address_of(s, "app", "?connections=8")));
    for (int i = 0; i < 20; ++i)
        BOOST_TEST(!r.release(r.acquire(locks, "stock" + std::to_string(i), {.ttl = 20s, .wait = 20s}).held));
}

BOOST_AUTO_TEST_CASE(the_certificate_must_be_the_hosts)
{
    certificates c, others;
    auto const server = [&](std::string const& identity) {
        return std::make_unique<mariadb_server>(std::vector<std::string>{hurried, "--ssl-cert=" + c.file(identity + ".pem"), "--ssl-key=" + c.file(identity + ".key"),
                                                                         "--ssl-ca=" + c.file("ca.pem")});
    };
    auto const s = server("server"), elsewhere = server("elsewhere");
    real_servers r(0);
    auto const url = [](mariadb_server const& where, std::string const& host, std::string const& rest) {
        return fmt::format("mysql://redlock@{}:{}/redlock?connections=1{}", host, where.port(), rest);
    };
    auto const ca = "&ssl_ca=" + c.file("ca.pem");
    for (auto const* const host : {"localhost", "127.0.0.1"}) {
        auto const tried = r.attempt(on(url(*s, host, ca)));
        BOOST_TEST(!tried.ec, host << ": " << tried.report.message);
    }
    BOOST_TEST(!r.attempt(on(url(*elsewhere, "localhost", "&tls=unverified"))).ec);
    for (auto const& wrong : {url(*s, "localhost", "&ssl_ca=" + others.file("ca.pem")), url(*s, "localhost", "&tls=on"), url(*elsewhere, "localhost", ca)}) {
        auto const node = look(r.attempt(on(wrong)));
        BOOST_TEST((node.error == errc::node_unreachable));
        BOOST_TEST((node.message.find("TLS") != std::string::npos || node.message.find("SSL") != std::string::npos), node.message);
    }
    mariadb_server plain({hurried});
    BOOST_TEST((look(r.attempt(on(url(plain, "127.0.0.1", ca)))).error == errc::node_unreachable));
    ask(*s, "ALTER USER redlock@'127.0.0.1' REQUIRE X509");
    BOOST_TEST((look(r.attempt(on(url(*s, "127.0.0.1", ca)))).error == errc::authentication_failed));
    BOOST_TEST(!r.attempt(on(url(*s, "127.0.0.1", ca + "&ssl_cert=" + c.file("client.pem") + "&ssl_key=" + c.file("client.key")))).ec);
}

BOOST_AUTO_TEST_SUITE_END()
