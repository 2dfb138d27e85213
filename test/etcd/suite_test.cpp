// An etcd server passes the suite of all nodes.

#include "stores/check_node.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(node_suite, *only_with_server())

BOOST_AUTO_TEST_CASE(a_long_session_and_a_prefix) { check_node(server().url("/of mine/?session=300s&timeout=10s")); }

BOOST_AUTO_TEST_SUITE_END()
