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
    // A server reports its start in whole seconds, so two starts in one second look like one. This does no harm: the
    // quarantine of max_ttl after the first start is also long enough for the second. But here the restart must be
    // visible, so the server runs for two seconds first.
    one.run_to([&] {
        return ask(s, "SELECT variable_value >= 2 FROM information_schema.global_status WHERE variable_name = 'uptime'")
               == "1";
    });
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
