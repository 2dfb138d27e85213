// Faults of a database, and the messages to its users.

#include "stores/databases/failures.hpp"
#include "stores/postgresql/schema.hpp"
#include "support/certificates.hpp"
#include "support/quarantine.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(failures_of_postgresql, event_loop, *only_with_server())

BOOST_AUTO_TEST_CASE(name_of_a_node_does_not_contain_secrets)
{
    BOOST_CHECK_NO_THROW(
        lock_manager(asio::system_executor(),
                     on("postgresql://u:geheim@h1:1,h2:2/db?table=app.locks&sslmode=require&timeout=2s&prepare=off")));
    BOOST_CHECK_THROW(postgresql({.connections = 0}), std::invalid_argument);
    lock_manager locks(asio::system_executor(), on("postgresql://u:geheim@h1:1,h2:2/db?table=app.locks"));
    BOOST_TEST(locks.stats().nodes.at(0).name == "postgresql://h1:1,h2:2/db?table=app.locks");
}

BOOST_AUTO_TEST_CASE(acquire_without_access_returns_the_reason)
{
    postgres_server s({"fsync=off", "password_encryption=scram-sha-256"});
    s.ask("CREATE ROLE app LOGIN PASSWORD 'geheim'");
    s.ask("CREATE ROLE guest LOGIN PASSWORD 'geheim'");
    std::ofstream(s.folder() + "/pg_hba.conf")
        << "host all redlock 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
    s.ask("SELECT pg_reload_conf()");
    auto const error_of = [&](std::string const& url) { return trouble_of(r.attempt(on(url))).error; };
    auto const eventually = [&](std::string const& url, errc wanted) {  // the server reads its settings a moment later
        return r.run_to([&] { return error_of(url) == wanted; });
    };
    BOOST_TEST(eventually(address_of(s, "app:wrong-geheim"), errc::authentication_failed));
    BOOST_TEST((error_of(address_of(s, "app")) == errc::authentication_failed));
    for (auto const* const word_of_the_message : {"password", "authentication", "failed", "app"})
        BOOST_TEST((error_of(address_of(s, std::string("app:") + word_of_the_message)) == errc::authentication_failed));
    BOOST_TEST((error_of(address_of(s, "nobody:geheim")) == errc::authentication_failed));
    BOOST_TEST(
        (error_of(fmt::format("postgresql://redlock@127.0.0.1:{}/nowhere", s.port())) == errc::node_unreachable));
    BOOST_TEST((error_of(fmt::format("postgresql://redlock@127.0.0.1:{}/postgres", testbed::free_port()))
                == errc::node_unreachable));
}

BOOST_AUTO_TEST_CASE(acquire_with_a_silent_first_host_asks_the_next_one)
{
    asio::io_context nobody;
    // The kernel accepts the connection, and nothing answers.
    asio::ip::tcp::acceptor silent(nobody, {asio::ip::address_v4::loopback(), 0});
    auto settings = on(fmt::format("postgresql://redlock@127.0.0.1:{},127.0.0.1:{}/postgres",
                                   silent.local_endpoint().port(), server().port()));
    settings.connect_timeout = 300ms;
    lock_manager locks(r.context, settings);
    BOOST_TEST(r.run_to([&] { return !r.acquire(locks, "behind silence").ec; }));
}

BOOST_AUTO_TEST_CASE(acquire_with_unknown_host_names_reports_the_name)
{
    auto const tried = r.attempt(on("postgresql://redlock@not..known,nor..this/postgres"));
    BOOST_TEST((tried.report.nodes.at(0).error == errc::node_unreachable));
    BOOST_TEST(tried.report.nodes[0].message.starts_with("cannot resolve nor..this"), tried.report.nodes[0].message);
}

BOOST_AUTO_TEST_CASE(acquire_with_password_and_tls_settings_of_libpq_succeeds)
{
    certificates c;
    postgres_server s({"fsync=off", "password_encryption=scram-sha-256"});
    for (auto const* file : {"server.pem", "server.key"}) {
        std::ofstream(s.folder() + "/" + file) << std::ifstream(c.file(file)).rdbuf();
        std::filesystem::permissions(s.folder() + "/" + file, std::filesystem::perms::owner_read);
        if (::geteuid() == 0) {
            struct stat owner {};
            BOOST_REQUIRE(::stat(s.folder().c_str(), &owner) == 0);
            BOOST_REQUIRE(::chown((s.folder() + "/" + file).c_str(), owner.st_uid, owner.st_gid) == 0);
        }
    }
    s.ask("CREATE ROLE app LOGIN PASSWORD 'ge:he@im' SUPERUSER");
    std::ofstream(s.folder() + "/pg_hba.conf")
        << "host all redlock 127.0.0.1/32 trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n";
    for (auto const* setting : {"ssl_cert_file = 'server.pem'", "ssl_key_file = 'server.key'", "ssl = on"})
        s.ask(std::string("ALTER SYSTEM SET ") + setting);
    s.ask("SELECT pg_reload_conf()");
    auto const safe = address_of(s, "app:ge%3Ahe%40im", "?sslmode=verify-full&sslrootcert=" + c.file("ca.pem"));
    BOOST_TEST(r.run_to([&] { return !r.attempt(on(safe)).ec; }));
    auto const plain = r.attempt(on(address_of(s, "app:ge%3Ahe%40im", "?sslmode=disable")));
    BOOST_TEST((plain.report.nodes.at(0).error == errc::authentication_failed));
    auto const unknown =
        r.attempt(on(address_of(s, "app:ge%3Ahe%40im", "?sslmode=verify-full&sslrootcert=" + c.file("client.pem"))));
    BOOST_TEST((unknown.report.nodes.at(0).error == errc::node_unreachable));
    BOOST_TEST(unknown.report.nodes[0].message.find("certificate") != std::string::npos,
               unknown.report.nodes[0].message);
}

BOOST_AUTO_TEST_CASE(acquire_succeeds_only_with_the_documented_rights)
{
    postgres_server s({"fsync=off"});
    s.ask("CREATE ROLE app LOGIN");
    auto const url = address_of(s, "app");
    auto const without_tables = r.attempt(on(url));  // since PostgreSQL 15 the role may not create tables
    BOOST_REQUIRE(!without_tables.report.nodes.empty());
    if (without_tables.ec)
        BOOST_TEST((without_tables.report.nodes[0].error == errc::permission_denied));
    BOOST_TEST(!r.attempt(on(s.url())).ec);  // the owner creates the tables
    if (without_tables.ec) {
        auto const without_rights = r.attempt(on(url));
        BOOST_TEST((without_rights.report.nodes.at(0).error == errc::permission_denied));
        BOOST_TEST(without_rights.report.nodes[0].message.find("redlock_timeline") != std::string::npos,
                   without_rights.report.nodes[0].message);
    }
    BOOST_TEST(s.ask("GRANT SELECT, INSERT, UPDATE, DELETE ON redlock, redlock_reader, redlock_wish, "
                     "redlock_tombstone, redlock_timeline, redlock_record TO app")
               == "");
    check_rights(r, url);
}

BOOST_AUTO_TEST_CASE(acquire_without_rights_names_the_grant_that_is_enough)
{
    postgres_server s({"fsync=off"});
    BOOST_TEST(s.ask("CREATE ROLE app LOGIN; CREATE SCHEMA own") == "");
    s.ask("REVOKE CREATE ON SCHEMA public FROM PUBLIC");    // the default since PostgreSQL 15
    BOOST_TEST(!r.attempt(on(s.url("?table=theirs"))).ec);  // created by another role
    for (auto const* const table : {"theirs", "ours", "own.ours"})
        check_grants(r, s, address_of(s, "app", std::string("?table=") + table));
}

BOOST_AUTO_TEST_CASE(list_and_watch_by_a_role_that_may_only_read_succeed)
{
    postgres_server s({"fsync=off"});
    lock_manager locks(r.context, on(s.url(), {.owner = "web-1"}));
    auto held = hold(r, locks, "stock", {.ttl = 60s});
    BOOST_TEST(s.ask("CREATE ROLE app LOGIN") == "");
    auto const list = [&](lock_manager& looks) {
        return r.wait_for<lock_page>([&](auto done) { looks.async_list("*", std::move(done)); });
    };
    manager_options const reads{.read_only = true};
    lock_manager denied(r.context, on(address_of(s, "app"), reads)), looks(r.context, on(address_of(s, "app"), reads));
    auto const refused = list(denied).second.nodes.at(0);
    BOOST_TEST((refused.error == errc::permission_denied));
    auto const at = refused.message.find("GRANT ");
    BOOST_TEST_REQUIRE(at != std::string::npos, refused.message);
    BOOST_TEST(s.ask(refused.message.substr(at)) == "");
    auto const [ec, page] = list(looks);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST_REQUIRE(page.locks.size() == 1u);
    BOOST_TEST(page.locks[0].owner == "web-1");
    BOOST_TEST((r.acquire(looks, "other").ec == errc::unsupported));

    std::optional<lock_info> now;
    looks.async_watch(page.locks[0], [&](error_code, lock_info i) { now = std::move(i); });
    BOOST_TEST(!r.release(held));
    BOOST_TEST(r.run_to([&] { return now.has_value(); }));
    BOOST_TEST(!now->locked);
}

BOOST_AUTO_TEST_CASE(list_and_watch_at_a_standby_succeed)
{
    postgres_server primary({"fsync=off"});
    lock_manager locks(r.context, on(primary.url(), {.owner = "web-1"}));
    auto held = hold(r, locks, "stock", {.ttl = 60s});
    postgres_server standby(primary);
    lock_manager looks(r.context, on(standby.url(), {.read_only = true}));
    auto const [ec, page] = r.wait_for<lock_page>([&](auto done) { looks.async_list("*", std::move(done)); });
    BOOST_TEST(!ec, page.nodes.at(0).message);
    BOOST_TEST_REQUIRE(page.locks.size() == 1u);
    BOOST_TEST(page.locks[0].owner == "web-1");
    BOOST_TEST((page.locks[0].knows_readers && !page.locks[0].knows_waiters));

    std::optional<lock_info> now;
    looks.async_watch(page.locks[0], [&](error_code, lock_info i) { now = std::move(i); });
    BOOST_TEST(!r.release(held));
    BOOST_TEST(r.run_to([&] { return now.has_value(); }));
    BOOST_TEST(!now->locked);
}

BOOST_AUTO_TEST_CASE(acquire_by_a_role_without_synchronous_commit_outlasts_a_crash)
{
    postgres_server s({"wal_writer_delay=10s"});
    s.ask("CREATE ROLE app LOGIN SUPERUSER");
    s.ask("ALTER ROLE app SET synchronous_commit = off");
    lock_manager mine(r.context, on(address_of(s, "app"))), others(r.context, on(s.url()));
    BOOST_TEST(!r.release(r.acquire(others, "warm-up", {.ttl = 60s}).held));
    auto won = r.acquire(mine, "stock", {.ttl = 60s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    s.kill();
    s.start();
    BOOST_TEST(r.run_to([&] { return r.acquire(others, "stock").ec != errc::no_quorum; }));
    BOOST_TEST((r.acquire(others, "stock").ec == errc::contended));
}

BOOST_AUTO_TEST_CASE(connect_to_older_functions_names_the_script_to_run)
{
    postgres_server s({"fsync=off"});
    lock_manager mine(r.context, on(s.url()));
    auto held = hold(r, mine, "stock", {.ttl = 60s});
    BOOST_TEST(
        s.ask("CREATE OR REPLACE FUNCTION redlock_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 2'")
        == "");
    auto const refused = r.attempt(on(s.url()));
    BOOST_TEST((refused.report.nodes.at(0).error == errc::unsupported_server));
    BOOST_TEST(refused.report.nodes[0].message.find("schema.sql") != std::string::npos,
               refused.report.nodes[0].message);
    s.ask(std::string(stores::postgresql::schema()));
    auto const mended = r.attempt(on(s.url()));
    BOOST_TEST((mended.ec == errc::contended), mended.report.message);
    BOOST_TEST(!r.extend(held, 60s));
    BOOST_TEST(!r.release(held));
}

BOOST_AUTO_TEST_CASE(acquire_with_older_tables_of_another_owner_names_the_script_to_run)
{
    postgres_server s({"fsync=off"});
    s.ask(std::string(stores::postgresql::schema()));
    BOOST_TEST(s.ask(this_store::makes_older) == "");
    s.ask("CREATE ROLE app LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app");
    auto const said = trouble_of(r.attempt(on(address_of(s, "app"))));
    BOOST_TEST((said.error == errc::permission_denied), said.error.message());
    BOOST_TEST(said.message.find("let their owner run schema.sql again") != std::string::npos, said.message);
}

BOOST_AUTO_TEST_CASE(acquire_behind_a_database_lock_reports_node_busy)
{
    postgres_server s({"fsync=off"});
    lock_manager locks(r.context, on(s.url("?timeout=200ms")));
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    testbed::process vacuum({"psql", "-X", "-q", "-h", "127.0.0.1", "-p", std::to_string(s.port()), "-U", "redlock",
                             "-d", "postgres", "-c", "BEGIN; LOCK TABLE redlock; SELECT pg_sleep(60)"},
                            {.output = "/dev/null"});
    BOOST_TEST(r.run_to([&] {
        auto const tried = r.acquire(locks, "stock");
        return tried.ec == errc::no_quorum && tried.report.nodes.at(0).error == errc::node_busy;
    }));
    s.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK TABLE%'");
    BOOST_TEST(r.run_to([&] { return !r.acquire(locks, "stock").ec; }));
}

BOOST_AUTO_TEST_CASE(acquire_with_a_failed_commit_is_not_granted)
{
    postgres_server s({"fsync=off"});
    lock_manager locks(r.context, on(s.url()));
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    BOOST_TEST(s.ask("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'too late'; END$$;"
                     "CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON redlock DEFERRABLE INITIALLY DEFERRED FOR EACH "
                     "ROW EXECUTE FUNCTION fail()")
               == "");
    auto const failed = r.acquire(locks, "stock", {.ttl = 20s});
    BOOST_TEST((failed.ec == errc::no_quorum));
    BOOST_TEST((failed.report.nodes.at(0).error == errc::server_error));
    BOOST_TEST(failed.report.nodes[0].message == "too late");
    BOOST_TEST(s.ask("SELECT count(*) FROM redlock_locks") == "0");
    BOOST_TEST(s.ask("DROP TRIGGER late ON redlock") == "");
    BOOST_TEST(!r.release(r.acquire(locks, "stock", {.ttl = 20s, .wait = 20s}).held));  // the connection still works
}

BOOST_AUTO_TEST_CASE(acquire_after_an_older_dump_was_restored_is_quarantined)
{
    postgres_server s({"fsync=off"});
    BOOST_TEST(!r.attempt(on(s.url())).ec);
    auto const dump = s.folder() + "/dump.sql", port = std::to_string(s.port());
    testbed::run_program({testbed::postgres_programs() + "/pg_dump", "-h", "127.0.0.1", "-p", port, "-U", "redlock",
                          "--clean", "-f", dump, "postgres"},
                         dump + ".log");
    BOOST_TEST_CONTEXT("tables and functions")
        check_quarantine_after(r, on(s.url()), [&] {
            testbed::run_program({"psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-1", "-h", "127.0.0.1", "-p", port,
                                  "-U", "redlock", "-d", "postgres", "-f", dump},
                                 dump + ".log");
            skip_time(10s);  // connections look at the server from time to time
            r.run_to([] { return false; }, 100ms);
        });
    BOOST_TEST(!r.attempt(on(s.url("?table=rows"))).ec);
    std::string kept, restored;
    for (auto const* const table : {"rows", "rows_reader", "rows_tombstone", "rows_timeline", "rows_record"}) {
        kept += fmt::format("CREATE TABLE kept_{0} AS SELECT * FROM {0};", table);
        restored += fmt::format("DELETE FROM {0}; INSERT INTO {0} SELECT * FROM kept_{0};", table);
    }
    BOOST_TEST(s.ask(kept) == "");
    BOOST_TEST_CONTEXT("rows")
        check_quarantine_after(r, on(s.url("?table=rows")), [&] {
            BOOST_TEST(s.ask(restored) == "");
            skip_time(10s);
            r.run_to([] { return false; }, 100ms);
        });
}

BOOST_AUTO_TEST_CASE(acquire_at_a_promoted_standby_waits_for_the_quarantine)
{
    postgres_server primary;
    BOOST_TEST(!r.attempt(on(primary.url())).ec);
    postgres_server standby(primary);
    auto const refused = r.attempt(on(standby.url()));
    BOOST_TEST((refused.report.nodes.at(0).error == errc::node_read_only));

    auto const both =
        fmt::format("postgresql://redlock@127.0.0.1:{},127.0.0.1:{}/postgres", standby.port(), primary.port());
    auto const settings = on(both, {.max_ttl = 60s});
    lock_manager mine(r.context, settings), late(r.context, settings);
    auto held = hold(r, mine, "stock", {.ttl = 6s});
    BOOST_TEST(r.run_to([&] { return standby.ask("SELECT count(*) FROM redlock_locks") == "1" || !held.held(); }));
    primary.kill();
    standby.ask("DELETE FROM redlock");  // fails, because the standby is read-only
    standby.ask("SELECT pg_promote()");
    standby.ask("DELETE FROM redlock");  // as if the standby had not received the lock
    auto const promoted = clock::now();
    auto const until_held = [&](lock_manager& locks, std::string const& name) {
        wait_for_quarantine(r, locks, name, {.ttl = 6s});
        BOOST_TEST(!acquire_after_quarantine(r, locks, name, {.ttl = 6s, .wait = 20s}).ec);
        BOOST_TEST((clock::now() - promoted >= 59s));
    };
    until_held(late, "stock");  // this manager did not know the primary
    BOOST_TEST(!acquire_after_quarantine(r, mine, "other", {.ttl = 6s, .wait = 20s}).ec);
}

BOOST_AUTO_TEST_CASE(acquire_with_serializable_as_the_default_succeeds)
{
    postgres_server s({"fsync=off", "default_transaction_isolation=serializable"});
    lock_manager locks(r.context, on(s.url()));
    for (int i = 0; i < 20; ++i)
        BOOST_TEST(!r.release(r.acquire(locks, "stock", {.ttl = 20s, .wait = 20s}).held));
}

BOOST_AUTO_TEST_CASE(acquire_with_fewer_connections_than_configured_succeeds)
{
    postgres_server s({"fsync=off", "max_connections=6", "superuser_reserved_connections=3"});
    s.ask("CREATE ROLE app LOGIN SUPERUSER");
    s.ask("ALTER ROLE app CONNECTION LIMIT 2");
    s.ask("ALTER ROLE app NOSUPERUSER");
    BOOST_TEST(!r.attempt(on(s.url("?connections=1"))).ec);
    s.ask("GRANT SELECT, INSERT, UPDATE, DELETE ON redlock, redlock_reader, redlock_wish, redlock_tombstone, "
          "redlock_timeline, redlock_record TO app");
    lock_manager locks(r.context, on(address_of(s, "app", "?connections=8")));
    for (int i = 0; i < 20; ++i)
        BOOST_TEST(!r.release(r.acquire(locks, "stock" + std::to_string(i), {.ttl = 20s, .wait = 20s}).held));
}

BOOST_AUTO_TEST_SUITE_END()
