#include "core/backoff.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::core;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(backoff)

BOOST_AUTO_TEST_CASE(rule_10_pauses_grow_up_to_a_ceiling)
{
    std::chrono::milliseconds const ceilings[] = {16ms, 32ms, 64ms, 128ms, 256ms, 256ms, 256ms};
    for (std::size_t round = 1; round <= 7; ++round) {
        BOOST_TEST((pause_after(round, 0) == ceilings[round - 1] / 4));
        BOOST_TEST((pause_after(round, ~0ULL) < ceilings[round - 1]));
        BOOST_TEST((pause_after(round, ~0ULL) > ceilings[round - 1] - 1us));
    }
}

BOOST_AUTO_TEST_CASE(rule_10_pauses_are_random)
{
    BOOST_TEST((pause_after(3, 1ULL << 62) != pause_after(3, 3ULL << 61)));
}

BOOST_AUTO_TEST_CASE(a_million_rounds_do_not_overflow)
{
    BOOST_TEST((pause_after(1'000'000, ~0ULL) <= 256ms));
    BOOST_TEST((pause_after(0, 0) > 0ms));
}

BOOST_AUTO_TEST_SUITE_END()
