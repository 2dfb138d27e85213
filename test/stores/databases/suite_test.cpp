// Runs the node suite for a database.

#include "stores/check_node.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(node_suite, *only_with_server())

BOOST_AUTO_TEST_CASE(database_with_one_connection_passes_the_suite)
{
    check_node(server().url(this_store::one_connection));
}

// A managed database, if an environment variable names it.
BOOST_AUTO_TEST_CASE(database_of_the_environment_passes_the_suite)
{
    if (auto const* const url = std::getenv(this_store::named_by))
        check_node(url);
}

BOOST_AUTO_TEST_SUITE_END()
