// Processes that take one lock in turn while ZooKeeper is killed, stopped, and started again. Others start meanwhile.

#include "support/counting_processes.hpp"
#include "support/zookeeper.hpp"
#include "support/many_locks.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(faults_of_zookeeper, *only_with_zookeeper())

namespace {

constexpr newcomer_life polite{.time = 500ms, .says_farewell = true};

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_while_zookeeper_is_killed_and_stopped_meets_nobody)
{
    zookeeper_server s;
    config const c{.nodes = {s.url("?session=1s&timeout=200ms")}, .stores = {zookeeper()}};
    count_in_turn(c, [&](counting_on const& some_more) { disturb(s, some_more, 1s); }, 2, polite);
}

BOOST_AUTO_TEST_CASE(acquire_while_leaders_of_zookeeper_are_stopped_meets_nobody)
{
    testbed::zookeeper_ensemble ensemble(3);
    config const c{.nodes = {ensemble.url("?session=1s&timeout=200ms")}, .stores = {zookeeper()}};
    count_in_turn(c, [&](counting_on const& some_more) { stop_leader(ensemble, some_more, 1s); }, 2, polite);
}

BOOST_AUTO_TEST_CASE(acquire_while_servers_of_zookeeper_are_killed_meets_nobody)
{
    testbed::zookeeper_ensemble ensemble(3);
    config const c{.nodes = {ensemble.url("?session=1s&timeout=200ms")}, .stores = {zookeeper()}};
    std::size_t next = 0;
    count_in_turn(c, [&](counting_on const& some_more) { disturb(ensemble[next++ % 3], some_more, 1s); }, 2, polite);
}

BOOST_AUTO_TEST_CASE(loss_of_thousands_of_locks_in_zookeeper_takes_no_long_turn)
{
    zookeeper_server s;

    lose_thousands(s, settings(s.url("?session=20s&timeout=1s"), {.node_timeout = 300ms}));
}

BOOST_AUTO_TEST_SUITE_END()
