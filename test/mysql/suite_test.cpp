// The MySQL node passes the node suite.

#include "stores/check_node.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(node_suite, *only_with_server())

BOOST_AUTO_TEST_CASE(node_suite_over_a_unix_socket_passes)
{
    check_node("mariadb://redlock@/redlock?socket=" + server().socket() + "&timeout=20s");
}

BOOST_AUTO_TEST_SUITE_END()
