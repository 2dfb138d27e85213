// The PostgreSQL node passes the node suite.

#include "postgresql/pgbouncer.hpp"
#include "stores/check_node.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(node_suite, *only_with_server())

BOOST_AUTO_TEST_CASE(node_suite_in_another_schema_without_notify_passes)
{
    server().ask("CREATE SCHEMA app");
    check_node(server().url("?connections=2&table=app.locks&notify=off&timeout=20s"));
}

BOOST_AUTO_TEST_CASE(node_suite_through_a_transaction_pooler_passes, *only_with_pgbouncer())
{
    pgbouncer p(server(), "pool_mode=transaction");
    check_node(p.url("?notify=off&prepare=off&timeout=20s"));
}

BOOST_AUTO_TEST_SUITE_END()
