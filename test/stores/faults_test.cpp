// Several processes acquire one lock while the server is killed, paused and started again. Further processes start
// meanwhile.

#include "stores/store.hpp"
#include "support/counting_processes.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(faults, *only_with_server())

BOOST_AUTO_TEST_CASE(acquire_while_the_server_is_killed_and_stopped_has_one_holder)
{
    this_store::server s(this_store::durable);
    auto const faults = [&](counting_on const& some_more) { disturb(s, some_more, this_store::life); };
    count_in_turn(on(s.url(this_store::hurried)), faults, 2, this_store::newcomers);
}

BOOST_AUTO_TEST_SUITE_END()
