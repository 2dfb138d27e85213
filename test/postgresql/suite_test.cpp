// A PostgreSQL database passes the suite of all nodes.

#include <redlock/testing/node_suite.hpp>

#include "support/pgbouncer.hpp"
#include "support/postgres.hpp"

#include <redlock/postgresql.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <exception>
#include <string>

using namespace redlock;
using namespace redlock::test;
using testing::node_kind;

BOOST_AUTO_TEST_SUITE(node_suite, *only_with_postgresql())

namespace {

void check(std::string const& url)
{
    // On a machine where everything else is busy a connection may take seconds.
    node_kind const kind{.make = [url] { return make_node(url, {.connect_timeout = std::chrono::seconds(10)}); }};
    for (auto const& c : testing::node_cases()) {
        if (!c.concerns(kind))
            continue;
        try {
            c.run(kind);
        } catch (std::exception const& e) {
            BOOST_ERROR(std::string(c.name) + ": " + e.what());
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_real_server)
{
    check(database().url());
}

BOOST_AUTO_TEST_CASE(one_connection_and_another_table)
{
    check(database().url("?connections=1&table=locks_of_mine&prepare=off"));
}

BOOST_AUTO_TEST_CASE(a_schema_of_ones_own_and_no_notifications)
{
    database().ask("CREATE SCHEMA app");
    check(database().url("?connections=2&table=app.locks&notify=off"));
}

BOOST_AUTO_TEST_CASE(node_suite_through_a_transaction_pooler_passes, *only_with_pgbouncer())
{
    pgbouncer p(database(), "pool_mode=transaction");
    check(p.url("?notify=off&prepare=off"));
}

// Managed by somebody else: REDLOCK_TEST_URL names it.
BOOST_AUTO_TEST_CASE(the_database_that_is_named)
{
    if (auto const* const url = std::getenv("REDLOCK_TEST_URL"))
        check(url);
}

BOOST_AUTO_TEST_SUITE_END()
