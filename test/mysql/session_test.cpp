// A single connection.

#include "stores/databases/connection.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(session_with_mysql, *only_with_server())

BOOST_AUTO_TEST_CASE(connection_after_a_restart_reports_another_start)
{
    mariadb_server s;
    connection one(s.url());
    auto const first = one.said();
    {
        connection two(s.url());
        BOOST_TEST(two.said().started == first.started);
        BOOST_TEST(two.said().backend.id > first.backend.id);
    }
    s.kill();
    s.start();
    one.run_to([&] { return !one.is_up; });
    connection two(s.url());
    BOOST_TEST(two.said().started != first.started);
    BOOST_TEST(two.said().system == first.system);
    BOOST_TEST(two.said().record.word == first.record.word);  // the server is durable
    BOOST_TEST(two.said().timeline == first.timeline);
}

BOOST_AUTO_TEST_SUITE_END()
