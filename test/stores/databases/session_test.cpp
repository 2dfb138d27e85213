// One session with a database, without a node.

#include "stores/databases/connection.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(session_with_a_database, *only_with_server())

BOOST_AUTO_TEST_CASE(session_that_its_owner_refuses_is_never_up)
{
    connection refused(server().url(), false);
    BOOST_TEST(refused.is_over);
    BOOST_TEST(!refused.was_up);
}

BOOST_AUTO_TEST_CASE(end_of_an_earlier_backend_reports_when_it_is_gone)
{
    this_store::server s(this_store::quick);
    connection earlier(s.url());
    this_store::change_session_defaults(s);
    connection later(s.url());
    BOOST_TEST(later.said().started == earlier.said().started);
    BOOST_TEST(later.said().record.word == earlier.said().record.word);
    auto const backend = earlier.said().backend;
    auto const is_there = [&] { return ask(s, this_store::connections_with(backend.id)) == "1"; };
    BOOST_TEST(is_there());

    later.end(backend);

    BOOST_TEST(!is_there());
    earlier.run_to([&] { return !earlier.is_up; });  // an idle session notices the end, too
}

BOOST_AUTO_TEST_SUITE_END()
