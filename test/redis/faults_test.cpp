// Several processes acquire one lock while Redis servers are killed, paused and started again. Further processes start
// meanwhile.

#include "support/counting_processes.hpp"
#include "support/many_locks.hpp"
#include "support/real_servers.hpp"
#include "bed/sentinel_set.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(faults_of_redis, *only_with_fencing())

BOOST_AUTO_TEST_CASE(acquire_while_servers_are_killed_and_stopped_has_one_holder)
{
    real_servers r(3, {"--appendonly", "yes", "--appendfsync", "always"});
    std::size_t next = 0;
    count_in_turn(
        r.settings(), [&](counting_on const& some_more) { disturb(r[next++ % 3], some_more); }, 2);
}

BOOST_AUTO_TEST_CASE(acquire_while_all_servers_are_stopped_in_turn_has_one_holder)
{
    real_servers r(3, {"--appendonly", "yes", "--appendfsync", "always"});
    auto const stop_all = [&](counting_on const& some_more) {
        for (auto& s : r.servers) {
            stop_for_longer_than(counting_ttl, *s);
            some_more();
        }
    };
    count_in_turn(r.settings(), stop_all, 2);
}

// The first lock on a new master waits for its quarantine of max_ttl plus ten seconds.
BOOST_AUTO_TEST_CASE(acquire_while_masters_of_sentinels_are_stopped_has_one_holder)
{
    testbed::sentinel_set set({.replicas = 2, .sentinels = 3, .down_after_ms = "500"});
    auto const stop_master = [&](counting_on const& some_more) {
        auto const port = set.master();
        std::size_t at = 0;
        while (std::to_string(set.server(at).port()) != port)
            ++at;
        set.server(at).pause();
        set.wait_for_another(port);
        some_more();
        set.server(at).resume();
    };
    count_in_turn({.nodes = {set.url()}}, stop_master, 2);
}

BOOST_AUTO_TEST_CASE(loss_of_thousands_of_locks_does_not_block_the_event_loop)
{
    local_server s;

    lose_thousands(s, {.nodes = {s.url()}, .node_timeout = 300ms});
}

BOOST_AUTO_TEST_SUITE_END()
