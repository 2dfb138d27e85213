// One connection by itself.

#include "stores/databases/connection.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(session_with_mysql, *only_with_server())

BOOST_AUTO_TEST_CASE(two_connections_tell_of_one_life_of_a_server_and_another_tells_of_another)
{
    mariadb_server s;
    connection one(s.url());
    auto const first = one.said();
    BOOST_TEST(first.durable);
    BOOST_TEST(!connection(server().url()).said().durable);
    BOOST_TEST((first.uptime < 60s));
    {
        connection two(s.url());
        BOOST_TEST(two.said().started == first.started);
        BOOST_TEST(two.said().backend.id > first.backend.id);
    }
    // A server tells of its start in seconds. Who does not vote until max_ttl after that does not do so after a second
    // start in it.
    one.run_to([&] { return connection(s.url()).said().uptime >= 2s; });
    s.kill();
    s.start();
    one.run_to([&] { return !one.is_up; });
    connection two(s.url());
    BOOST_TEST(two.said().started != first.started);
    BOOST_TEST(two.said().system == first.system);
    BOOST_TEST(two.said().since == first.since);
    BOOST_TEST(two.said().timeline == first.timeline);
}

BOOST_AUTO_TEST_SUITE_END()
