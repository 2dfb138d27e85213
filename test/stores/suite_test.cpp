// A node of the store passes the suite of all nodes.

#include "stores/check_node.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(node_suite, *only_with_server())

BOOST_AUTO_TEST_CASE(a_real_server) { check_node(server().url(this_store::patient)); }

BOOST_AUTO_TEST_SUITE_END()
