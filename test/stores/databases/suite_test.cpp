// A node of a database passes the suite of all nodes.

#include "stores/check_node.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(node_suite, *only_with_server())

BOOST_AUTO_TEST_CASE(one_connection_and_another_table) { check_node(server().url(this_store::one_connection)); }

// Managed by somebody else: the environment names it.
BOOST_AUTO_TEST_CASE(the_database_that_is_named)
{
    if (auto const* const url = std::getenv(this_store::named_by))
        check_node(url);
}

BOOST_AUTO_TEST_SUITE_END()
