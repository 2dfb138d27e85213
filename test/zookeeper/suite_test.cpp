// The ZooKeeper node passes the node suite.

#include "stores/check_node.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(node_suite, *only_with_server())

BOOST_AUTO_TEST_CASE(node_suite_with_long_session_and_user_passes)
{
    zookeeper_server s;
    check_node("zookeeper://app:pass-word@127.0.0.1:" + std::to_string(s.port()) + "?session=15s&timeout=10s");
}

BOOST_AUTO_TEST_SUITE_END()
