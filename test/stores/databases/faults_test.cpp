// Several processes acquire one lock in a quorum of a database and two Redis servers, while these are killed and
// paused.

#include "stores/store.hpp"
#include "support/counting_processes.hpp"
#include "bed/local_server.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace redlock::test;
using redlock::testbed::local_server;

BOOST_AUTO_TEST_SUITE(faults, *only_with_server())

BOOST_AUTO_TEST_CASE(mixed_quorum_of_redis_and_a_database_has_one_holder)
{
    this_store::server s(this_store::durable);
    std::vector<std::string> const durable{"--appendonly", "yes", "--appendfsync", "always"};
    local_server one(durable), two(durable);
    int turn = 0;
    count_in_turn(
        on(s.url(this_store::hurried), {.nodes = {one.url(), two.url()}}),
        [&](counting_on const& some_more) {
            if (turn++ % 2 == 0)
                return disturb(s, some_more);
            one.kill();
            one.start();
            stop_for_longer_than(counting_ttl, two);
        },
        2);
}

BOOST_AUTO_TEST_SUITE_END()
