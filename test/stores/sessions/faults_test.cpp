// Several processes acquire one lock while the leader of a cluster is paused, or its members are killed.

#include "stores/store.hpp"
#include "support/counting_processes.hpp"
#include "support/many_locks.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(faults, *only_with_server())

BOOST_AUTO_TEST_CASE(acquire_while_leaders_are_stopped_has_one_holder)
{
    this_store::cluster cluster(3);
    auto const faults = [&](counting_on const& some_more) { stop_leader(cluster, some_more, this_store::life); };
    count_in_turn(on(cluster.url(this_store::hurried)), faults, 2, this_store::newcomers);
}

BOOST_AUTO_TEST_CASE(acquire_while_members_are_killed_has_one_holder)
{
    this_store::cluster cluster(3);
    std::size_t next = 0;
    auto const faults = [&](counting_on const& some_more) {
        disturb(cluster[next++ % 3], some_more, this_store::life);
    };
    count_in_turn(on(cluster.url(this_store::hurried)), faults, 2, this_store::newcomers);
}

BOOST_AUTO_TEST_CASE(loss_of_thousands_of_locks_does_not_block_the_event_loop)
{
    this_store::server s(this_store::durable);

    lose_thousands(s, on(s.url("?session=20s&timeout=1s"), {.node_timeout = 300ms}));
}

BOOST_AUTO_TEST_SUITE_END()
