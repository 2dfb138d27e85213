// Processes that take one lock in turn while the database is killed, stopped, and started again.

#include "support/counting_processes.hpp"
#include "support/mariadb.hpp"
#include "testbed/local_server.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;
using testbed::local_server;

BOOST_AUTO_TEST_SUITE(faults_of_mysql, *only_with_mariadb())

namespace {

constexpr int newcomers = 2;

}  // namespace

BOOST_AUTO_TEST_CASE(nobody_meets_anybody_while_the_database_is_killed_and_stopped)
{
    mariadb_server s;  // which flushes what it confirms
    count_in_turn({.nodes = {s.url()}, .stores = {mysql({.connections = 2, .timeout = 200ms})}}, [&](counting_on const& some_more) { disturb(s, some_more); }, newcomers);
}

BOOST_AUTO_TEST_CASE(nor_in_a_quorum_of_two_redis_servers_and_a_database)
{
    mariadb_server s;
    local_server one({"--appendonly", "yes", "--appendfsync", "always"}), two({"--appendonly", "yes", "--appendfsync", "always"});
    int turn = 0;
    count_in_turn({.nodes = {s.url(), one.url(), two.url()}, .stores = {mysql({.connections = 2, .timeout = 200ms})}}, [&](counting_on const& some_more) {
        if (turn++ % 2 == 0)
            return disturb(s, some_more);
        one.kill();
        one.start();
        stop_for_longer_than(counting_ttl, two);
    }, newcomers);
}

BOOST_AUTO_TEST_SUITE_END()
