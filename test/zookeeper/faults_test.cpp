// Processes that take one lock in turn while the server is killed, stopped, and started again.

#include "support/counting_processes.hpp"
#include "support/zookeeper.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(faults_of_zookeeper, *only_with_zookeeper())

BOOST_AUTO_TEST_CASE(nobody_meets_anybody_while_the_server_is_killed_and_stopped)
{
    zookeeper_server s;
    count_in_turn({.nodes = {s.url("?session=1s&timeout=200ms")}, .stores = {zookeeper()}}, [&](counting_on const& some_more) { disturb(s, some_more, 1s); });
}

BOOST_AUTO_TEST_SUITE_END()
