// Processes that take one lock in turn while etcd is killed, stopped, and started again. Others start meanwhile.

#include "support/counting_processes.hpp"
#include "support/etcd.hpp"
#include "support/many_locks.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(faults_of_etcd, *only_with_etcd())

namespace {

constexpr newcomer_life polite{.time = 500ms, .says_farewell = true};

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_while_etcd_is_killed_and_stopped_meets_nobody)
{
    etcd_server s({"--heartbeat-interval=10", "--election-timeout=50"});
    config const c{.nodes = {s.url("?session=2s&timeout=200ms")}, .stores = {etcd()}};
    count_in_turn(c, [&](counting_on const& some_more) { disturb(s, some_more, 2s); }, 2, polite);
}

BOOST_AUTO_TEST_CASE(acquire_while_leaders_of_etcd_are_stopped_meets_nobody)
{
    testbed::etcd_cluster cluster(3);
    config const c{.nodes = {cluster.url("?session=2s&timeout=200ms")}, .stores = {etcd()}};
    count_in_turn(c, [&](counting_on const& some_more) { stop_leader(cluster, some_more, 2s); }, 2, polite);
}

BOOST_AUTO_TEST_CASE(acquire_while_members_of_etcd_are_killed_meets_nobody)
{
    testbed::etcd_cluster cluster(3);
    config const c{.nodes = {cluster.url("?session=2s&timeout=200ms")}, .stores = {etcd()}};
    std::size_t next = 0;
    count_in_turn(c, [&](counting_on const& some_more) { disturb(cluster[next++ % 3], some_more, 2s); }, 2, polite);
}

BOOST_AUTO_TEST_CASE(loss_of_thousands_of_locks_in_etcd_takes_no_long_turn)
{
    etcd_server s({"--heartbeat-interval=10", "--election-timeout=50"});

    lose_thousands(s, settings(s.url("?session=20s&timeout=1s"), {.node_timeout = 300ms}));
}

BOOST_AUTO_TEST_SUITE_END()
