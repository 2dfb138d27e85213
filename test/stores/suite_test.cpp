// Runs the node suite for a node of the store.

#include "stores/check_node.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(node_suite, *only_with_server())

BOOST_AUTO_TEST_CASE(store_server_passes_the_suite) { check_node(server().url(this_store::patient)); }

BOOST_AUTO_TEST_SUITE_END()
