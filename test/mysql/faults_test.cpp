// Processes that take one lock in turn while the database is killed, stopped, and started again.

#include "support/counting_processes.hpp"
#include "support/mariadb.hpp"
#include "testbed/local_server.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

using namespace redlock;
using namespace redlock::test;
using testbed::local_server;

BOOST_AUTO_TEST_SUITE(faults_of_mysql, *only_with_mariadb())

BOOST_AUTO_TEST_CASE(nobody_meets_anybody_while_the_database_is_killed_and_stopped)
{
    mariadb_server s;  // which flushes what it confirms
    count_in_turn({.nodes = {s.url()}, .stores = {mysql({.connections = 2})}}, [&] { disturb(s); });
}

BOOST_AUTO_TEST_CASE(nor_in_a_quorum_of_two_redis_servers_and_a_database)
{
    mariadb_server s;
    local_server one({"--appendonly", "yes", "--appendfsync", "always"}), two({"--appendonly", "yes", "--appendfsync", "always"});
    int turn = 0;
    count_in_turn({.nodes = {s.url(), one.url(), two.url()}, .stores = {mysql({.connections = 2})}}, [&] {
        if (turn++ % 2 == 0)
            return disturb(s);
        one.kill();
        one.start();
        two.pause();
        std::this_thread::sleep_for(1500ms);
        two.resume();
    });
}

BOOST_AUTO_TEST_SUITE_END()
