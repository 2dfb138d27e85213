// Faults of a database, and the messages to its users.

#include "stores/databases/failures.hpp"
#include "support/certificates.hpp"
#include "support/quarantine.hpp"
#include "support/virtual_clock.hpp"
#include "testing/node_client.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(failures_of_mysql, event_loop, *only_with_server())

namespace {
constexpr auto waiting_statements =
    "information_schema.processlist WHERE info LIKE '%FOR UPDATE%' AND id <> CONNECTION_ID()";
// The server does not flush each commit. This is fast, but the server counts as one that forgets.
constexpr auto hurried = "--innodb-flush-log-at-trx-commit=0";

constexpr auto galera = "/usr/lib/galera/libgalera_smm.so";

}  // namespace

BOOST_AUTO_TEST_CASE(name_of_a_node_does_not_contain_secrets)
{
    BOOST_CHECK_NO_THROW(
        lock_manager(asio::system_executor(),
                     on("mariadb://u:geheim@[::1]:3307/db?table=locks&ssl_ca=ca.pem&timeout=2s&connections=8")));
    BOOST_CHECK_THROW(mysql({.connections = 0}), std::invalid_argument);
    BOOST_CHECK_THROW(mysql({.table = ""}), std::invalid_argument);
    lock_manager locks(
        asio::system_executor(),
        {.nodes = {"mysql://u:geheim@h/db?table=locks", "mysql://u:g%40@[::1]:7/db"}, .stores = {mysql()}});
    BOOST_TEST(locks.stats().nodes.at(0).name == "mysql://h:3306/db?table=locks");
    BOOST_TEST(locks.stats().nodes.at(1).name == "mysql://[::1]:7/db");
}

BOOST_AUTO_TEST_CASE(acquire_without_access_returns_the_reason)
{
    mariadb_server s({hurried});
    mariadb_client root(s);
    root.ask("CREATE USER app@'127.0.0.1' IDENTIFIED BY 'ge:he@im'; GRANT ALL ON redlock.* TO app@'127.0.0.1'; CREATE "
             "USER guest@'127.0.0.1'");
    auto const error_of = [&](std::string const& url) {
        auto const node = trouble_of(r.attempt(on(url)));
        BOOST_TEST(node.message.find("ge:he@im") == std::string::npos);
        return node.error;
    };
    BOOST_TEST(!r.attempt(on(address_of(s, "app:ge%3ahe%40im"))).ec);
    BOOST_TEST((error_of(address_of(s, "app:wrong-geheim")) == errc::authentication_failed));
    BOOST_TEST((error_of(address_of(s, "app")) == errc::authentication_failed));
    BOOST_TEST((error_of(address_of(s, "nobody:geheim")) == errc::authentication_failed));
    BOOST_TEST((error_of(address_of(s, "guest")) == errc::permission_denied));
    BOOST_TEST((error_of(fmt::format("mysql://redlock@127.0.0.1:{}/nowhere", s.port())) == errc::unsupported_server));
    BOOST_TEST((error_of(fmt::format("mysql://redlock@127.0.0.1:{}/redlock", testbed::free_port()))
                == errc::node_unreachable));
    BOOST_TEST((error_of("mysql://redlock@no-such-host.invalid/redlock") == errc::node_unreachable));
    BOOST_TEST((error_of("mysql://redlock@/redlock?socket=/no/such/file") == errc::node_unreachable));
}

BOOST_AUTO_TEST_CASE(acquire_succeeds_only_with_the_documented_rights)
{
    mariadb_server s({hurried});
    mariadb_client root(s);
    root.ask(
        "CREATE USER maker@'127.0.0.1'; CREATE USER app@'127.0.0.1'; GRANT SELECT ON redlock.* TO app@'127.0.0.1'");
    auto const url = address_of(s, "app");
    // The account may not even know whether the tables exist.
    BOOST_TEST((trouble_of(r.attempt(on(url))).error == errc::permission_denied));
    BOOST_TEST(root.ask("GRANT EXECUTE ON redlock.* TO app@'127.0.0.1'") == "");
    auto const unmade = trouble_of(r.attempt(on(url)));
    BOOST_TEST((unmade.error == errc::permission_denied));
    BOOST_TEST(unmade.message.find("it cannot create its tables") != std::string::npos, unmade.message);
    auto const missing = trouble_of(r.attempt(on(url + "?create_table=off")));
    BOOST_TEST((missing.error == errc::unsupported_server));
    BOOST_TEST(missing.message.find("docs/stores.md") != std::string::npos, missing.message);
    root.ask("REVOKE EXECUTE ON redlock.* FROM app@'127.0.0.1'");

    BOOST_TEST(
        root.ask(
            "GRANT CREATE, CREATE ROUTINE, EXECUTE, SELECT, INSERT, UPDATE, DELETE ON redlock.* TO maker@'127.0.0.1'")
        == "");
    BOOST_TEST(!r.attempt(on(address_of(s, "maker"))).ec);
    BOOST_TEST((trouble_of(r.attempt(on(url))).error == errc::permission_denied));
    BOOST_TEST(
        root.ask("REVOKE SELECT ON redlock.* FROM app@'127.0.0.1'; GRANT EXECUTE ON redlock.* TO app@'127.0.0.1'")
        == "");
    check_rights(r, url);
    BOOST_TEST(mariadb_client(s, "app").ask("SELECT * FROM redlock").starts_with("error"));
}

BOOST_AUTO_TEST_CASE(acquire_without_rights_names_the_grant_that_is_enough)
{
    mariadb_server s({hurried});
    mariadb_client root(s);
    root.ask("CREATE USER guest@'%'; CREATE USER app@'127.0.0.1'; GRANT SELECT ON redlock.* TO app@'127.0.0.1'");
    for (std::string const user : {"guest", "app"})
        check_grants(r, s, address_of(s, user, "?table=of_" + user));
}

BOOST_AUTO_TEST_CASE(acquire_at_a_galera_member_reports_unsupported_server,
                     *only_if(std::filesystem::exists(galera), "there is no Galera here (Debian's package galera-4)"))
{
    auto const listens = fmt::format("gmcast.listen_addr=tcp://127.0.0.1:{}", testbed::free_port());
    mariadb_server s({hurried, "--wsrep-on=ON", fmt::format("--wsrep-provider={}", galera),
                      "--wsrep-cluster-address=gcomm://", "--wsrep-node-address=127.0.0.1",
                      "--wsrep-provider-options=" + listens, "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2"});
    auto const said = trouble_of(r.attempt(on(s.url())));
    BOOST_TEST((said.error == errc::unsupported_server), said.error.message());
    BOOST_TEST(said.message.find("Galera") != std::string::npos, said.message);
}

BOOST_AUTO_TEST_CASE(acquire_after_a_restart_is_quarantined_unless_durable)
{
    struct kind {
        std::vector<std::string> options;
        bool durable;
        mariadb_server server{options};
        std::unique_ptr<lock_manager> locks{};
    };
    kind kinds[] = {{{}, true},
                    {{hurried}, false},
                    {{"--log-bin", "--sync-binlog=1"}, true},
                    {{"--log-bin", "--sync-binlog=0"}, false}};
    for (auto& k : kinds)
        k.locks = std::make_unique<lock_manager>(r.context, on(k.server.url()));
    for (auto& k : kinds)
        BOOST_TEST(!r.release(r.acquire(*k.locks, "stock", {.ttl = 20s, .wait = 20s}).held));
    for (auto& k : kinds) {
        k.server.kill();
        k.server.start();
        real_servers::outcome tried;
        BOOST_TEST(r.run_to([&] {
            tried = r.acquire(*k.locks, "stock", {.ttl = 20s});
            return !tried.ec || tried.ec == errc::quarantined;
        }));
        BOOST_TEST((tried.ec == errc::quarantined) == !k.durable);
    }
}

BOOST_AUTO_TEST_CASE(acquire_that_an_operator_kills_leaves_no_row_locks)
{
    mariadb_server s({hurried});
    mariadb_client root(s), holder(s);
    lock_manager locks(r.context, on(s.url("?connections=1&timeout=5s")));
    BOOST_TEST(!r.release(r.wait_for<lock>([&](auto done) {
                               locks.async_acquire({"a", "b"}, {.ttl = 60s}, std::move(done));
                           }).second));
    // The procedure locks the first of two rows, and waits for the second.
    BOOST_TEST(holder.ask("START TRANSACTION; SELECT COUNT(*) FROM redlock WHERE lock_key = 'lock:b' FOR UPDATE")
               == "1");
    auto const waits = [&] { return root.ask(std::string("SELECT COALESCE(MAX(id), 0) FROM ") + waiting_statements); };
    for (bool const connection : {false, true}) {
        std::optional<error_code> outcome;
        bool killed = false;
        locks.async_acquire({"a", "b"}, {.ttl = 60s}, [&](error_code ec, lock) { outcome = ec; });
        BOOST_TEST(r.run_to([&] {  // again, if the statement had ended before KILL
            if (auto const waiter = waits(); waiter != "0") {
                killed |= root.ask(fmt::format("KILL {} {}", connection ? "CONNECTION" : "QUERY", waiter)) == "";
            }
            return outcome.has_value();
        }));
        BOOST_TEST(killed);
        BOOST_TEST((outcome == errc::no_quorum));
        BOOST_TEST(r.run_to([&] {
            return root.ask("START TRANSACTION; SELECT COUNT(*) FROM redlock WHERE lock_key = 'lock:a' FOR UPDATE "
                            "NOWAIT; ROLLBACK; SELECT 1")
                   == "1";
        }));
    }
    holder.ask("ROLLBACK");
    BOOST_TEST(r.run_to([&] { return !r.release(r.acquire(locks, "b", {.ttl = 60s}).held); }));
}

BOOST_AUTO_TEST_CASE(acquire_behind_a_database_lock_reports_node_busy)
{
    mariadb_server s({hurried});
    mariadb_client other(s);
    lock_manager locks(r.context, on(s.url("?timeout=200ms")));
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    for (auto const* const lock :
         {"LOCK TABLES redlock WRITE", "START TRANSACTION; SELECT * FROM redlock FOR UPDATE"}) {
        other.ask(lock);
        BOOST_TEST(r.run_to([&] {
            auto const tried = r.acquire(locks, "stock");
            return tried.ec == errc::no_quorum && tried.report.nodes.at(0).error == errc::node_busy;
        }));
        other.ask("ROLLBACK; UNLOCK TABLES");
        BOOST_TEST(r.run_to([&] { return !r.release(r.acquire(locks, "stock").held); }));
    }
}

BOOST_AUTO_TEST_CASE(acquire_judges_the_ttl_after_the_wait_for_the_row)
{
    mariadb_server s({hurried});
    mariadb_client other(s);
    testing::client node({.make = [&] { return make_node(s.url("?timeout=20s")); }});
    BOOST_TEST(node.acquires({"stock"}, "v", std::chrono::hours(1)));
    BOOST_TEST(other.ask("START TRANSACTION; SELECT value FROM redlock WHERE lock_key = 'stock' FOR UPDATE") == "v");
    auto const waiter = node.put({.what = commands::acquire{.contender = "me"}, .ttl = 60s}, {"stock"}, "w");
    node.run_to([&] { return other.ask(std::string("SELECT COUNT(*) FROM ") + waiting_statements) == "1"; },
                "no statement waits");
    // The lock expires after the waiter has called its procedure.
    other.ask("UPDATE redlock SET expires = UTC_TIMESTAMP(6) WHERE lock_key = 'stock'");
    BOOST_TEST(waiter->answers == 0);
    other.ask("COMMIT");
    BOOST_TEST((node.answer_of(waiter).vote == vote::granted));
    BOOST_TEST(other.ask("SELECT expires > UTC_TIMESTAMP(6) AND expires <= UTC_TIMESTAMP(6) + INTERVAL 60 SECOND FROM "
                         "redlock WHERE lock_key = 'stock'")
               == "1");
}

BOOST_AUTO_TEST_CASE(acquire_of_missing_rows_by_many_does_not_deadlock)
{
    mariadb_server s({hurried});
    std::vector<std::unique_ptr<lock_manager>> managers;
    for (int i = 0; i < 4; ++i)
        managers.push_back(
            std::make_unique<lock_manager>(r.context, on(s.url("?connections=4&timeout=10s"), {.node_timeout = 10s})));
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
                managers[i % 4]->async_acquire(i % 3 == 1 ? resource_set{name(i)} : resource_set{name(i), name(i + 1)},
                                               {.ttl = 60s}, outcome);
        }
        BOOST_TEST(r.run_to([&] { return done == 16u * static_cast<std::size_t>(round + 1); }));
    }
    BOOST_TEST(lost == 0u);
    BOOST_TEST(
        ask(s, "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'innodb_deadlocks'")
        == "0");
}

BOOST_AUTO_TEST_CASE(acquire_after_an_older_dump_was_restored_is_quarantined)
{
    mariadb_server s({hurried});
    BOOST_TEST(!r.attempt(on(s.url())).ec);
    std::string kept, restored = "SELECT SLEEP(1.1);";  // create_time has whole seconds
    for (auto const* const table :
         {"redlock", "redlock_reader", "redlock_tombstone", "redlock_server", "redlock_record"}) {
        kept += fmt::format("CREATE TABLE kept_{0} LIKE {0}; INSERT INTO kept_{0} SELECT * FROM {0};", table);
        restored += fmt::format(
            "DROP TABLE {0}; CREATE TABLE {0} LIKE kept_{0}; INSERT INTO {0} SELECT * FROM kept_{0};", table);
    }
    BOOST_TEST(ask(s, kept) == "");
    lock_manager mine(r.context, on(s.url()));
    auto const held = hold(r, mine, "stock", {.ttl = 20s});
    BOOST_TEST(ask(s, restored) == "0");
    lock_manager late(r.context, on(s.url()));
    BOOST_TEST((r.acquire(late, "stock", {.ttl = 20s}).ec == errc::quarantined));
}

BOOST_AUTO_TEST_CASE(acquire_at_a_read_only_server_reports_node_read_only)
{
    mariadb_server s({hurried});
    mariadb_client root(s);
    lock_manager locks(r.context, on(s.url()));
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    BOOST_TEST(root.ask("SET GLOBAL read_only = 1") == "");
    BOOST_TEST((trouble_of(r.attempt(on(s.url()))).error == errc::node_read_only));
    for (int i = 0; i < 10 && locks.stats().nodes.at(0).connected; ++i) {
        skip_time(1s);  // the session looks at the settings from time to time
        r.context.restart();
        r.context.run_for(50ms);
    }
    BOOST_TEST(r.run_to([&] { return !locks.stats().nodes.at(0).connected; }));
    BOOST_TEST((trouble_of(r.acquire(locks, "stock", {.ttl = 20s})).error == errc::node_read_only));
    root.ask("SET GLOBAL read_only = 0");
    BOOST_TEST(r.run_to([&] { return !r.release(r.acquire(locks, "stock").held); }));
}

BOOST_AUTO_TEST_CASE(acquire_with_a_binary_log_of_statements_is_refused)
{
    mariadb_server s({hurried, "--log-bin", "--binlog-format=STATEMENT"});
    auto const node = trouble_of(r.attempt(on(s.url())));
    BOOST_TEST((node.error == errc::unsupported_server));
    BOOST_TEST(node.message.find("binlog_format") != std::string::npos, node.message);
}

BOOST_AUTO_TEST_CASE(acquire_with_unusual_server_defaults_succeeds)
{
    mariadb_server s({hurried, "--transaction-isolation=SERIALIZABLE",
                      "--sql-mode=ORACLE,ANSI_QUOTES,SIMULTANEOUS_ASSIGNMENT", "--autocommit=0",
                      "--default-time-zone=+05:30", "--character-set-server=utf16", "--lower-case-table-names=1"});
    lock_manager locks(r.context, on(s.url()));
    for (int i = 0; i < 20; ++i)
        BOOST_TEST(!r.release(r.acquire(locks, "stock", {.ttl = 20s, .wait = 20s}).held));
    auto const won = r.acquire(locks, "stock", {.ttl = 20s});
    BOOST_TEST(ask(s, "SELECT COUNT(*) FROM redlock WHERE expires > UTC_TIMESTAMP(6) AND expires < UTC_TIMESTAMP(6) + "
                      "INTERVAL 21 SECOND")
               == "1");
}

BOOST_AUTO_TEST_CASE(acquire_with_fewer_connections_than_configured_succeeds)
{
    mariadb_server s({hurried});
    mariadb_client root(s);
    root.ask("CREATE USER app@'127.0.0.1' WITH MAX_USER_CONNECTIONS 2; GRANT ALL ON redlock.* TO app@'127.0.0.1'");
    lock_manager locks(r.context, on(address_of(s, "app", "?connections=8")));
    for (int i = 0; i < 20; ++i)
        BOOST_TEST(!r.release(r.acquire(locks, "stock" + std::to_string(i), {.ttl = 20s, .wait = 20s}).held));
}

BOOST_AUTO_TEST_CASE(acquire_over_tls_refuses_another_host_or_authority)
{
    certificates c, others;
    auto const server = [&](std::string const& identity) {
        return std::make_unique<mariadb_server>(
            std::vector<std::string>{hurried, "--ssl-cert=" + c.file(identity + ".pem"),
                                     "--ssl-key=" + c.file(identity + ".key"), "--ssl-ca=" + c.file("ca.pem")});
    };
    auto const s = server("server"), elsewhere = server("elsewhere");
    auto const url = [](mariadb_server const& where, std::string const& host, std::string const& rest) {
        return fmt::format("mysql://redlock@{}:{}/redlock?connections=1{}", host, where.port(), rest);
    };
    auto const ca = "&ssl_ca=" + c.file("ca.pem");
    for (auto const* const host : {"localhost", "127.0.0.1"}) {
        auto const tried = r.attempt(on(url(*s, host, ca)));
        BOOST_TEST(!tried.ec, host << ": " << tried.report.message);
    }
    BOOST_TEST(!r.attempt(on(url(*elsewhere, "localhost", "&tls=unverified"))).ec);
    for (auto const& wrong : {url(*s, "localhost", "&ssl_ca=" + others.file("ca.pem")), url(*s, "localhost", "&tls=on"),
                              url(*elsewhere, "localhost", ca)}) {
        auto const node = trouble_of(r.attempt(on(wrong)));
        BOOST_TEST((node.error == errc::node_unreachable));
        BOOST_TEST((node.message.find("TLS") != std::string::npos || node.message.find("SSL") != std::string::npos),
                   node.message);
    }
    mariadb_server plain({hurried});
    BOOST_TEST((trouble_of(r.attempt(on(url(plain, "127.0.0.1", ca)))).error == errc::node_unreachable));
    ask(*s, "ALTER USER redlock@'127.0.0.1' REQUIRE X509");
    BOOST_TEST((trouble_of(r.attempt(on(url(*s, "127.0.0.1", ca)))).error == errc::authentication_failed));
    BOOST_TEST(!r.attempt(on(url(*s, "127.0.0.1",
                                 ca + "&ssl_cert=" + c.file("client.pem") + "&ssl_key=" + c.file("client.key"))))
                    .ec);
}

BOOST_AUTO_TEST_SUITE_END()
