// Processes take one lock in turn while a paused old primary goes on.

#include "stores/store.hpp"
#include "support/counting_processes.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(faults, *only_with_server())

BOOST_AUTO_TEST_CASE(acquire_beside_a_resumed_old_primary_excludes_other_holders)
{
    postgres_server old_one, new_one(old_one);
    auto const hosts = "postgresql://redlock@127.0.0.1:" + std::to_string(old_one.port())
                       + ",127.0.0.1:" + std::to_string(new_one.port()) + "/postgres";
    int turn = 0;
    count_in_turn(
        on(hosts + this_store::hurried),
        [&](counting_on const& some_more) {
            if (turn++ > 0)
                return turn % 2 == 0 ? stop_for_longer_than(counting_ttl, old_one)
                                     : stop_for_longer_than(counting_ttl, new_one);
            old_one.pause();
            BOOST_TEST(new_one.ask("SELECT pg_promote()") == "t");
            some_more();
            old_one.resume();
            some_more();
        },
        2);
}

BOOST_AUTO_TEST_SUITE_END()
