// What a database does to its users, and what these are told.

#include "stores/postgresql/schema.hpp"
#include "support/certificates.hpp"
#include "support/lost_tables.hpp"
#include "support/postgres.hpp"
#include "support/quarantine.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(failures_of_postgresql, *only_with_postgresql())

namespace {

config on(std::string const& url, config c = {})
{
    c.nodes.push_back(url);
    c.stores = {postgresql()};
    c.node_timeout = patience;
    return c;
}

std::string address_of(postgres_server const& s, std::string const& who, std::string const& rest = {})
{
    return fmt::format("postgresql://{}@127.0.0.1:{}/postgres{}", who, s.port(), rest);
}

}  // namespace

BOOST_AUTO_TEST_CASE(addresses_that_are_wrong_are_refused_with_the_way_out_and_no_secret)
{
    auto const refused = [](std::string const& url, postgresql_options const& o = {}) -> std::string {
        try {
            lock_manager(asio::system_executor(), {.nodes = {url}, .stores = {postgresql(o)}});
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
    says("postgresql://u:geheim@h/db?tabel=x", "\"tabel\"");
    says("postgresql://u:geheim@h/db?connections=many", "connections must be a number");
    says("postgresql://u:geheim@h/db?connections=65", "connections is 65, but must be 1 to 64");
    says("postgresql://u:geheim@h/db?timeout=500", "timeout must end with \"ms\" or \"s\"");
    says("postgresql://u:geheim@h/db?timeout=0ms", "timeout is 0 ms, but must be 1 to 60000 ms");
    says("postgresql://u:geheim@h/db?table=Locks", "table is \"Locks\"");
    says("postgresql://u:geheim@h/db?table=a.b.c", "table is \"a.b.c\"");
    says("postgresql://u:geheim@h/db?notify=yes", "notify must be on or off");
    says("postgresql://u:geheim%zz@h/db", "percent-encoded");
    says("postgresql://u:its/geheim@h/db", "percent-encoded");
    says("postgresql://u:its@geheim@h/db", "percent-encoded");
    BOOST_TEST(refused("postgresql://u:geheim@h1:1,h2:2/db?table=app.locks&sslmode=require&timeout=2s&prepare=off") == "taken");
    BOOST_CHECK_THROW(postgresql({.connections = 0}), std::invalid_argument);
    lock_manager locks(asio::system_executor(), {.nodes = {"postgresql://u:geheim@h1:1,h2:2/db?table=app.locks"}, .stores = {postgresql()}});
    BOOST_TEST(locks.stats().nodes.at(0).name == "postgresql://h1:1,h2:2/db?table=app.locks");
}

BOOST_AUTO_TEST_CASE(who_may_not_come_in_is_told_why)
{
    postgres_server s({"fsync=off", "password_encryption=scram-sha-256"});
    s.ask("CREATE ROLE app LOGIN PASSWORD 'geheim'");
    s.ask("CREATE ROLE guest LOGIN PASSWORD 'geheim'");
    std::ofstream(s.folder() + "/pg_hba.conf") << "host all redlock 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
    s.ask("SELECT pg_reload_conf()");
    real_servers r(0);
    auto const error_of = [&](std::string const& url) {
        auto const tried = r.attempt(on(url));
        BOOST_TEST((tried.ec == errc::no_quorum));
        BOOST_TEST(tried.report.message.find("geheim") == std::string::npos);
        BOOST_REQUIRE(!tried.report.nodes.empty());
        return tried.report.nodes[0].error;
    };
    auto const eventually = [&](std::string const& url, errc wanted) {  // the settings are read a moment later
        return r.run_to([&] { return error_of(url) == wanted; });
    };
    BOOST_TEST(eventually(address_of(s, "app:wrong-geheim"), errc::authentication_failed));
    BOOST_TEST((error_of(address_of(s, "app")) == errc::authentication_failed));
    BOOST_TEST((error_of(address_of(s, "nobody:geheim")) == errc::authentication_failed));
    BOOST_TEST((error_of(fmt::format("postgresql://redlock@127.0.0.1:{}/nowhere", s.port())) == errc::node_unreachable));
    BOOST_TEST((error_of(fmt::format("postgresql://redlock@127.0.0.1:{}/postgres", testbed::free_port())) == errc::node_unreachable));
}

BOOST_AUTO_TEST_CASE(a_host_that_says_nothing_does_not_keep_the_next_one_from_being_asked)
{
    asio::io_context nobody;
    asio::ip::tcp::acceptor silent(nobody, {asio::ip::address_v4::loopback(), 0});  // the kernel accepts, and that is all
    real_servers r(0);
    auto settings = on(fmt::format("postgresql://redlock@127.0.0.1:{},127.0.0.1:{}/postgres", silent.local_endpoint().port(), database().port()));
    settings.connect_timeout = 300ms;
    lock_manager locks(r.context, settings);
    BOOST_TEST(r.run_to([&] { return !r.acquire(locks, "behind silence").ec; }));
}

BOOST_AUTO_TEST_CASE(names_of_hosts_that_nobody_knows_are_told)
{
    real_servers r(0);
    auto const tried = r.attempt(on("postgresql://redlock@not..known,nor..this/postgres"));
    BOOST_TEST((tried.report.nodes.at(0).error == errc::node_unreachable));
    BOOST_TEST(tried.report.nodes[0].message.starts_with("cannot resolve nor..this"), tried.report.nodes[0].message);
}

BOOST_AUTO_TEST_CASE(passwords_and_certificates_are_libpqs)
{
    certificates c;
    postgres_server s({"fsync=off", "password_encryption=scram-sha-256"});
    for (auto const* file : {"server.pem", "server.key"}) {
        std::ofstream(s.folder() + "/" + file) << std::ifstream(c.file(file)).rdbuf();
        std::filesystem::permissions(s.folder() + "/" + file, std::filesystem::perms::owner_read);
        if (::geteuid() == 0) {
            struct stat owner{};
            BOOST_REQUIRE(::stat(s.folder().c_str(), &owner) == 0);
            BOOST_REQUIRE(::chown((s.folder() + "/" + file).c_str(), owner.st_uid, owner.st_gid) == 0);
        }
    }
    s.ask("CREATE ROLE app LOGIN PASSWORD 'ge:he@im' SUPERUSER");
    std::ofstream(s.folder() + "/pg_hba.conf") << "host all redlock 127.0.0.1/32 trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n";
    for (auto const* setting : {"ssl_cert_file = 'server.pem'", "ssl_key_file = 'server.key'", "ssl = on"})
        s.ask(std::string("ALTER SYSTEM SET ") + setting);
    s.ask("SELECT pg_reload_conf()");
    real_servers r(0);
    auto const safe = address_of(s, "app:ge%3Ahe%40im", "?sslmode=verify-full&sslrootcert=" + c.file("ca.pem"));
    BOOST_TEST(r.run_to([&] { return !r.attempt(on(safe)).ec; }));
    auto const plain = r.attempt(on(address_of(s, "app:ge%3Ahe%40im", "?sslmode=disable")));
    BOOST_TEST((plain.report.nodes.at(0).error == errc::authentication_failed));
    auto const unknown = r.attempt(on(address_of(s, "app:ge%3Ahe%40im", "?sslmode=verify-full&sslrootcert=" + c.file("client.pem"))));
    BOOST_TEST((unknown.report.nodes.at(0).error == errc::node_unreachable));
    BOOST_TEST(unknown.report.nodes[0].message.find("certificate") != std::string::npos, unknown.report.nodes[0].message);
}

BOOST_AUTO_TEST_CASE(the_rights_of_the_document_suffice_and_less_is_told)
{
    postgres_server s({"fsync=off"});
    s.ask("CREATE ROLE app LOGIN");
    real_servers r(0);
    auto const url = address_of(s, "app");
    auto const without_tables = r.attempt(on(url));  // may not create them: PostgreSQL 15
    BOOST_REQUIRE(!without_tables.report.nodes.empty());
    if (without_tables.ec)
        BOOST_TEST((without_tables.report.nodes[0].error == errc::permission_denied));
    BOOST_TEST(!r.attempt(on(s.url())).ec);  // their owner makes them
    if (without_tables.ec) {
        auto const without_rights = r.attempt(on(url));
        BOOST_TEST((without_rights.report.nodes.at(0).error == errc::permission_denied));
        BOOST_TEST(without_rights.report.nodes[0].message.find("redlock_timeline") != std::string::npos, without_rights.report.nodes[0].message);
    }
    BOOST_TEST(s.ask("GRANT SELECT, INSERT, UPDATE, DELETE ON redlock, redlock_reader, redlock_wish, redlock_tombstone, redlock_timeline TO app") == "");
    lock_manager locks(r.context, on(url, {.fencing = true}));
    auto won = r.acquire(locks, "stock", {.ttl = 20s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    BOOST_TEST(!r.extend(won.held, 20s));
    BOOST_TEST((r.acquire(locks, "stock", {.ttl = 20s, .wait = 50ms}).ec == errc::contended));
    BOOST_TEST(!r.release(won.held));
    // who gave up above may still wish for it a moment longer
    auto shared = r.acquire(locks, "stock", {.ttl = 20s, .wait = 20s, .mode = mode::shared});
    BOOST_TEST(!shared.ec, shared.report.message);
    BOOST_TEST(!r.release(shared.held));
}

BOOST_AUTO_TEST_CASE(acquire_without_rights_names_the_grant_that_is_enough)
{
    postgres_server s({"fsync=off"});
    BOOST_TEST(s.ask("CREATE ROLE app LOGIN; CREATE SCHEMA own") == "");
    s.ask("REVOKE CREATE ON SCHEMA public FROM PUBLIC");  // as from PostgreSQL 15 on
    real_servers r(0);
    BOOST_TEST(!r.attempt(on(s.url("?table=theirs"))).ec);  // of another role
    for (auto const* const table : {"theirs", "ours", "own.ours"}) {
        auto tried = r.attempt(on(address_of(s, "app", std::string("?table=") + table)));
        BOOST_TEST(tried.ec.failed());
        for (int grants = 0; tried.ec && grants < 3; ++grants) {
            auto const& message = tried.report.nodes.at(0).message;
            BOOST_TEST((tried.report.nodes[0].error == errc::permission_denied), message);
            auto const at = message.find("GRANT ");
            BOOST_REQUIRE_MESSAGE(at != message.npos, message);
            BOOST_TEST(s.ask(message.substr(at)) == "", message);
            tried = r.attempt(on(address_of(s, "app", std::string("?table=") + table)));
        }
        BOOST_TEST(!tried.ec, tried.report.message);
    }
}

BOOST_AUTO_TEST_CASE(acquire_at_a_wrong_port_says_what_was_tried)
{
    real_servers r(0);
    auto const port = testbed::free_port();
    lock_manager locks(r.context, on(fmt::format("postgresql://redlock@127.0.0.1:{}/postgres", port)));
    real_servers::outcome tried;
    auto const says = [&](std::string const& words) { return tried.report.message.find(words) != std::string::npos; };
    BOOST_TEST(r.run_to([&] {
        tried = r.acquire(locks, "stock");
        return says("refused") && says(std::to_string(port)) && says(" attempts)");
    }), tried.report.message);
}

BOOST_AUTO_TEST_CASE(a_database_that_is_killed_keeps_its_locks)
{
    postgres_server s;
    real_servers r(0);
    lock_manager mine(r.context, on(s.url())), others(r.context, on(s.url()));
    auto won = r.acquire(mine, "stock", {.ttl = 60s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    s.kill();
    BOOST_TEST(r.extend(won.held, 60s).failed());
    s.start();
    auto const contended = [&] {
        auto const tried = r.acquire(others, "stock");
        BOOST_TEST(tried.ec.failed());
        return tried.ec == errc::contended;
    };
    BOOST_TEST(r.run_to(contended));
    BOOST_TEST(r.run_to([&] { return !r.extend(won.held, 60s); }));
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(!r.release(r.acquire(others, "stock", {.ttl = 20s, .wait = 20s}).held));
}

BOOST_AUTO_TEST_CASE(acquire_after_a_restart_that_undid_a_setting_is_quarantined)
{
    postgres_server s;
    real_servers r(0);
    lock_manager locks(r.context, on(s.url("?connections=1"), {.max_ttl = 5s, .restart_guard = restart_guard::strict}));
    // Once the tables are old enough.
    BOOST_TEST(r.run_to([&] { return !r.release(r.acquire(locks, "stock", {.ttl = 4s}).held); }));
    s.ask("ALTER SYSTEM SET fsync = off");
    s.ask("SELECT pg_reload_conf()");
    for (int look = 0; look < 2; ++look) {  // when the second is asked for, the answer to the first has come
        auto const looks = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%redlock_remembers%' AND pid <> pg_backend_pid() "
                           "AND query_start > '" + s.ask("SELECT clock_timestamp()") + "'";
        BOOST_TEST(r.run_to([&] { return s.ask(looks) == "1"; }));
    }
    s.kill();
    std::ofstream(s.folder() + "/postgresql.auto.conf") << "";
    s.start();
    wait_for_quarantine(r, locks, "stock", {.ttl = 4s});
    BOOST_TEST(s.ask("SHOW fsync") == "on");
}

BOOST_AUTO_TEST_CASE(acquire_by_a_role_without_synchronous_commit_outlasts_a_crash)
{
    postgres_server s({"wal_writer_delay=10s"});
    s.ask("CREATE ROLE app LOGIN SUPERUSER");
    s.ask("ALTER ROLE app SET synchronous_commit = off");
    real_servers r(0);
    lock_manager mine(r.context, on(address_of(s, "app"))), others(r.context, on(s.url()));
    BOOST_TEST(!r.release(r.acquire(others, "warm-up", {.ttl = 60s}).held));
    auto won = r.acquire(mine, "stock", {.ttl = 60s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    s.kill();
    s.start();
    BOOST_TEST(r.run_to([&] { return r.acquire(others, "stock").ec != errc::no_quorum; }));
    BOOST_TEST((r.acquire(others, "stock").ec == errc::contended));
}

BOOST_AUTO_TEST_CASE(connect_to_older_functions_names_the_script_that_mends_them)
{
    postgres_server s({"fsync=off"});
    real_servers r(0);
    lock_manager mine(r.context, on(s.url()));
    auto won = r.acquire(mine, "stock", {.ttl = 60s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    BOOST_TEST(s.ask("CREATE OR REPLACE FUNCTION redlock_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 2'") == "");
    auto const refused = r.attempt(on(s.url()));
    BOOST_TEST((refused.report.nodes.at(0).error == errc::unsupported_server));
    BOOST_TEST(refused.report.nodes[0].message.find("schema.sql") != std::string::npos, refused.report.nodes[0].message);
    s.ask(std::string(pg::schema()));
    auto const mended = r.attempt(on(s.url()));
    BOOST_TEST((mended.ec == errc::contended), mended.report.message);
    BOOST_TEST(!r.extend(won.held, 60s));
    BOOST_TEST(!r.release(won.held));
}

BOOST_AUTO_TEST_CASE(a_loss_is_told_before_the_end_while_the_database_stands_still)
{
    postgres_server s({"fsync=off"});
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

BOOST_AUTO_TEST_CASE(a_lock_of_the_database_in_the_way_is_an_error_and_no_hang)
{
    postgres_server s({"fsync=off"});
    real_servers r(0);
    lock_manager locks(r.context, on(s.url("?timeout=200ms")));
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    testbed::process vacuum({"psql", "-X", "-q", "-h", "127.0.0.1", "-p", std::to_string(s.port()), "-U", "redlock", "-d", "postgres", "-c",
                             "BEGIN; LOCK TABLE redlock; SELECT pg_sleep(60)"},
                            {.output = "/dev/null"});
    BOOST_TEST(r.run_to([&] {
        auto const tried = r.acquire(locks, "stock");
        return tried.ec == errc::no_quorum && tried.report.nodes.at(0).error == errc::node_busy;
    }));
    s.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK TABLE%'");
    BOOST_TEST(r.run_to([&] { return !r.acquire(locks, "stock").ec; }));
}

BOOST_AUTO_TEST_CASE(what_fails_only_when_it_is_committed_is_not_granted)
{
    postgres_server s({"fsync=off"});
    real_servers r(0);
    lock_manager locks(r.context, on(s.url()));
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    BOOST_TEST(s.ask("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'too late'; END$$;"
                     "CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON redlock DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()") == "");
    auto const failed = r.acquire(locks, "stock", {.ttl = 20s});
    BOOST_TEST((failed.ec == errc::no_quorum));
    BOOST_TEST((failed.report.nodes.at(0).error == errc::server_error));
    BOOST_TEST(failed.report.nodes[0].message == "too late");
    BOOST_TEST(s.ask("SELECT count(*) FROM redlock_locks") == "0");
    BOOST_TEST(s.ask("DROP TRIGGER late ON redlock") == "");
    BOOST_TEST(!r.release(r.acquire(locks, "stock", {.ttl = 20s, .wait = 20s}).held));  // the connection goes on
}

BOOST_AUTO_TEST_CASE(tables_that_are_dropped_are_made_again_and_have_forgotten)
{
    postgres_server s({"fsync=off"});
    real_servers r(0);
    auto const settings = on(s.url(), {.max_ttl = 60s, .restart_guard = restart_guard::strict});
    lock_manager mine(r.context, settings);
    BOOST_TEST(!acquire_after_quarantine(r, mine, "stock", {.ttl = 4s, .wait = 20s}).ec);  // once the tables are old enough
    auto const begun = clock::now();
    BOOST_TEST(s.ask("DROP VIEW redlock_locks; DROP TABLE redlock CASCADE; DROP TABLE redlock_reader, redlock_wish, redlock_tombstone, redlock_timeline;"
                     "DROP FUNCTION redlock_version, redlock_meet") == "");
    wait_for_quarantine(r, mine, "stock", {.ttl = 4s});
    skip_idle_time(r, mine, 30s);
    wait_for_quarantine(r, mine, "stock", {.ttl = 4s});
    BOOST_TEST(!acquire_after_quarantine(r, mine, "stock", {.ttl = 4s, .wait = 20s}).ec);
    BOOST_TEST((clock::now() - begun >= 59s));
}

BOOST_AUTO_TEST_CASE(acquire_after_the_loss_of_tables_is_quarantined)
{
    postgres_server s({"fsync=off"});
    real_servers r(0);
    char const* const losses[] = {
        "DROP TABLE {0} CASCADE",
        "TRUNCATE {0}",
        "DELETE FROM {0}",
        "TRUNCATE {0}_reader",
        "DROP TABLE {0}, {0}_reader, {0}_wish, {0}_tombstone, {0}_timeline CASCADE",
        "TRUNCATE {0}, {0}_reader, {0}_wish, {0}_tombstone, {0}_timeline",
    };
    for (auto const* const& loss : losses) {
        BOOST_TEST_CONTEXT(loss)
        check_quarantine_after(r, on(s.url(fmt::format("?table=t{}", &loss - losses))), [&] {
            BOOST_TEST(s.ask(fmt::format(fmt::runtime(loss), fmt::format("t{}", &loss - losses))) == "");
        });
    }
}

BOOST_AUTO_TEST_CASE(acquire_after_an_older_dump_was_restored_is_quarantined)
{
    postgres_server s({"fsync=off"});
    real_servers r(0);
    BOOST_TEST(!r.attempt(on(s.url())).ec);
    auto const dump = s.folder() + "/dump.sql", port = std::to_string(s.port());
    testbed::run_program({testbed::postgres_programs() + "/pg_dump", "-h", "127.0.0.1", "-p", port, "-U", "redlock", "--clean", "-f", dump, "postgres"}, dump + ".log");
    BOOST_TEST_CONTEXT("tables and functions")
    check_quarantine_after(r, on(s.url()), [&] {
        testbed::run_program({"psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-1", "-h", "127.0.0.1", "-p", port, "-U", "redlock", "-d", "postgres", "-f", dump}, dump + ".log");
        skip_time(10s);  // connections look now and then
        r.run_to([] { return false; }, 100ms);
    });
    BOOST_TEST(!r.attempt(on(s.url("?table=rows"))).ec);
    std::string kept, restored;
    for (auto const* const table : {"rows", "rows_reader", "rows_tombstone", "rows_timeline"}) {
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

BOOST_AUTO_TEST_CASE(a_standby_is_refused_and_when_it_is_promoted_it_does_not_vote_until_what_it_may_have_forgotten_is_over)
{
    postgres_server primary({"fsync=off"});
    real_servers r(0);
    BOOST_TEST(!r.attempt(on(primary.url())).ec);
    postgres_server standby(primary);
    auto const refused = r.attempt(on(standby.url()));
    BOOST_TEST((refused.report.nodes.at(0).error == errc::node_read_only));

    auto const both = fmt::format("postgresql://redlock@127.0.0.1:{},127.0.0.1:{}/postgres", standby.port(), primary.port());
    auto const settings = on(both, {.max_ttl = 60s});
    lock_manager mine(r.context, settings), late(r.context, settings);
    auto won = r.acquire(mine, "stock", {.ttl = 6s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    BOOST_TEST(r.run_to([&] { return standby.ask("SELECT count(*) FROM redlock_locks") == "1" || !won.held.held(); }));
    primary.kill();
    standby.ask("DELETE FROM redlock");  // read-only still
    standby.ask("SELECT pg_promote()");
    standby.ask("DELETE FROM redlock");  // as if it had not heard of the lock
    auto const promoted = clock::now();
    auto const until_held = [&](lock_manager& locks, std::string const& name) {
        wait_for_quarantine(r, locks, name, {.ttl = 6s});
        BOOST_TEST(!acquire_after_quarantine(r, locks, name, {.ttl = 6s, .wait = 20s}).ec);
        BOOST_TEST((clock::now() - promoted >= 59s));
    };
    until_held(late, "stock");  // it did not know the primary
    BOOST_TEST(!acquire_after_quarantine(r, mine, "other", {.ttl = 6s, .wait = 20s}).ec);
}

BOOST_AUTO_TEST_CASE(many_that_come_first_at_the_same_time_find_one_set_of_tables)
{
    postgres_server s({"fsync=off"});
    real_servers r(0);
    std::vector<std::unique_ptr<lock_manager>> managers;
    std::vector<real_servers::outcome> outcomes(6);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        managers.push_back(std::make_unique<lock_manager>(r.context, on(s.url("?connections=3&timeout=5s"))));
        r.start_acquire(outcomes[i], *managers.back(), "stock" + std::to_string(i), {.ttl = 30s, .report = &outcomes[i].report});
    }
    BOOST_TEST(r.run_to([&] { return std::all_of(outcomes.begin(), outcomes.end(), [](auto& o) { return o.done; }); }));
    for (auto& o : outcomes)
        BOOST_TEST(!o.ec, o.report.message);
    r.run_to([] { return false; }, 500ms);  // the other connections
    for (auto& o : outcomes) {
        BOOST_TEST(!r.extend(o.held, 40s));
        BOOST_TEST(!r.release(o.held));
    }
    for (auto& m : managers)
        BOOST_TEST(!r.release(r.acquire(*m, "stock", {.ttl = 30s, .wait = 20s}).held));
}

BOOST_AUTO_TEST_CASE(the_isolation_level_of_the_role_does_no_harm)
{
    postgres_server s({"fsync=off", "default_transaction_isolation=serializable"});
    real_servers r(0);
    lock_manager locks(r.context, on(s.url()));
    for (int i = 0; i < 20; ++i)
        BOOST_TEST(!r.release(r.acquire(locks, "stock", {.ttl = 20s, .wait = 20s}).held));
}

BOOST_AUTO_TEST_CASE(fewer_connections_than_wished_for_do)
{
    postgres_server s({"fsync=off", "max_connections=6", "superuser_reserved_connections=3"});
    s.ask("CREATE ROLE app LOGIN SUPERUSER");
    s.ask("ALTER ROLE app CONNECTION LIMIT 2");
    s.ask("ALTER ROLE app NOSUPERUSER");
    real_servers r(0);
    BOOST_TEST(!r.attempt(on(s.url("?connections=1"))).ec);
    s.ask("GRANT SELECT, INSERT, UPDATE, DELETE ON redlock, redlock_reader, redlock_wish, redlock_tombstone, redlock_timeline TO app");
    lock_manager locks(r.context, on(address_of(s, "app", "?connections=8")));
    for (int i = 0; i < 20; ++i)
        BOOST_TEST(!r.release(r.acquire(locks, "stock" + std::to_string(i), {.ttl = 20s, .wait = 20s}).held));
}

BOOST_AUTO_TEST_SUITE_END()
