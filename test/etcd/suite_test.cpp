// The etcd node passes the node suite.

#include "stores/check_node.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(node_suite, *only_with_server())

BOOST_AUTO_TEST_CASE(node_suite_with_long_session_and_prefix_passes)
{
    check_node(server().url("/of mine/?session=300s&timeout=10s"));
}

BOOST_AUTO_TEST_SUITE_END()
