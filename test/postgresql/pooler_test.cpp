// A real PgBouncer between the manager and the database, in each of its modes.

#include "postgresql/pgbouncer.hpp"
#include "stores/store.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(poolers, event_loop, *only_with_pgbouncer())

namespace {
constexpr auto shared_by_all = "pool_mode=transaction\ndefault_pool_size=1";  // one connection to the server
constexpr auto both_off = "?notify=off&prepare=off";

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_through_an_undeclared_pooler_is_refused)
{
    for (auto const* const mode : {"pool_mode=transaction", "pool_mode=session"}) {
        pgbouncer p(server(), mode);
        for (auto const* const parameters : {"", "?notify=off", "?prepare=off"}) {
            auto const tried = r.attempt(on(p.url(parameters)));
            BOOST_REQUIRE(!tried.report.nodes.empty());
            BOOST_TEST((tried.report.nodes[0].error == errc::unsupported_server),
                       mode << parameters << ": " << tried.report.message);
            for (auto const* const way_out : {both_off, "?session_pooler=on"})
                BOOST_TEST(tried.report.message.find(way_out) != std::string::npos, tried.report.message);
        }
        BOOST_TEST(p.ask("SHOW statement_timeout") == "0");  // the setting of the application's other clients
    }
}

BOOST_AUTO_TEST_CASE(acquire_through_a_transaction_pooler_leaves_no_setting)
{
    pgbouncer p(server(), shared_by_all);
    check_locks(r, on(p.url(both_off)));
    check_locks(r, on(p.url(std::string(both_off) + "&table=of_transactions")));
    for (auto const* const setting : {"statement_timeout", "lock_timeout"})
        BOOST_TEST(p.ask(std::string("SHOW ") + setting) == "0");
    BOOST_TEST(p.ask("SELECT count(*) FROM pg_prepared_statements") == "0");
    BOOST_TEST(p.ask("SELECT count(*) FROM of_transactions WHERE key <> ''") == "1");
}

BOOST_AUTO_TEST_CASE(acquire_through_a_session_pooler_is_notified)
{
    pgbouncer p(server(), "pool_mode=session");
    auto const settings = on(p.url("?session_pooler=on"));
    {
        lock_manager locks(r.context, settings);
        BOOST_TEST(!r.release(r.acquire(locks, "stock", {.ttl = 20s, .wait = 20s}).held));
        BOOST_TEST(r.run_to([&] { return locks.stats().nodes.at(0).notifies; }));
        r.shutdown(locks);
    }
    check_locks(r, settings);
    BOOST_TEST(p.ask("SHOW statement_timeout") == "0");  // the pooler has reset the connection
}

// Without a reset query, prepared statements stay on the connection, and the next client finds them.
BOOST_AUTO_TEST_CASE(acquire_after_a_client_with_another_table_uses_its_own_statements)
{
    pgbouncer p(server(), "pool_mode=session\ndefault_pool_size=1\nserver_reset_query=");
    auto const acquire = [&](std::string const& table) {
        auto const tried =
            r.attempt(on(p.url("?session_pooler=on&connections=1&table=" + table)), {.ttl = 20s, .wait = 20s});
        BOOST_TEST(!tried.ec, tried.report.message);
    };
    acquire("of_one");
    BOOST_TEST(server().ask("SELECT count(*) FROM of_one WHERE key <> ''") == "1");
    acquire("of_two");
    BOOST_TEST(server().ask("SELECT count(*) FROM of_two WHERE key <> ''") == "1");
    acquire("of_one");
    BOOST_TEST(p.ask("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'of_one:%'")
               == p.ask("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'of_two:%'"));
}

BOOST_AUTO_TEST_CASE(acquire_through_a_wrongly_declared_pooler_says_so)
{
    pgbouncer p(server(), "pool_mode=transaction\ndefault_pool_size=4");
    lock_manager locks(r.context, on(p.url("?session_pooler=on&connections=3")));
    real_servers::outcome tried;
    BOOST_TEST(r.run_to([&] {
        tried = r.acquire(locks, "stock", {.ttl = 20s});
        return tried.report.message.find("a pooler shares server connections") != std::string::npos;
    }),
               tried.report.message);
}

BOOST_AUTO_TEST_SUITE_END()
