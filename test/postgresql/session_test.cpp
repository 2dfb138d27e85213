// A single connection.

#include "stores/databases/connection.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(session_with_postgresql, *only_with_server())

BOOST_AUTO_TEST_CASE(look_after_all_rows_were_rewritten_ends_the_connection)
{
    postgres_server s;
    connection before(s.url());
    BOOST_TEST(s.ask("ALTER TABLE redlock SET UNLOGGED") == "");
    BOOST_TEST(!before.look());
    BOOST_TEST(before.is_over);
    connection after(s.url());
    BOOST_TEST(after.said().record.word != before.said().record.word);
    BOOST_TEST((after.said().record.began == core::beginning::anew));
}

BOOST_AUTO_TEST_CASE(look_after_full_page_writes_were_switched_off_tells_to_wait)
{
    postgres_server s;
    connection c(s.url());
    s.ask("ALTER SYSTEM SET full_page_writes = off");
    s.ask("SELECT pg_reload_conf()");
    c.run_to([&] { return c.look()->wait > 0s; });
}

BOOST_AUTO_TEST_CASE(redlock_withdraw_during_a_shared_acquisition_does_not_deadlock)
{
    auto& d = server();
    connection makes_tables(d.url("?table=rounds"));
    auto const connect = [&] {
        auto const text = "host=127.0.0.1 user=redlock dbname=postgres port=" + std::to_string(d.port());
        return std::unique_ptr<PGconn, void (*)(PGconn*)>(PQconnectdb(text.c_str()), PQfinish);
    };
    auto const reads = connect(), withdraws = connect();
    auto const ask = [&](std::string const& text) {
        stores::postgresql::result const r(PQexec(reads.get(), text.c_str()), PQclear);
        return std::string(PQresultErrorMessage(r.get()));
    };
    BOOST_TEST(ask("INSERT INTO rounds (key, watched) VALUES ('k', 4)") == "");
    BOOST_TEST(ask("INSERT INTO rounds_wish VALUES ('k', 'writer', false, 'infinity')") == "");
    BOOST_TEST(ask("BEGIN; SELECT FROM rounds WHERE key = 'k' FOR UPDATE") == "");
    BOOST_TEST(PQsendQuery(withdraws.get(), "SELECT rounds_withdraw(ARRAY['k'::bytea], 'writer')") == 1);
    auto const waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = "
                       + std::to_string(PQbackendPID(withdraws.get()));
    makes_tables.run_to([&] { return d.ask(waits) == "1"; });
    BOOST_TEST(ask("SELECT * FROM rounds_share('k', 'v', 1000, 'reader', false, true)") == "");
    BOOST_TEST(ask("COMMIT") == "");
    stores::postgresql::result const withdrawn(PQgetResult(withdraws.get()), PQclear);
    BOOST_TEST(std::string(PQresultErrorMessage(withdrawn.get())) == "");
    BOOST_TEST(d.ask("SELECT count(*) FROM rounds_wish") == "0");
}

BOOST_AUTO_TEST_SUITE_END()
