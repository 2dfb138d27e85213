#include "core/backoff.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>

using namespace redlock::core;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(backoff)

// Rule 10 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(pause_after_grows_up_to_a_ceiling)
{
    std::chrono::milliseconds const ceilings[] = {16ms, 32ms, 64ms, 128ms, 256ms, 256ms, 256ms};
    for (std::size_t round = 1; round <= 7; ++round) {
        BOOST_TEST((pause_after(round, 0) == ceilings[round - 1] / 4));
        BOOST_TEST((pause_after(round, ~0ULL) < ceilings[round - 1]));
        BOOST_TEST((pause_after(round, ~0ULL) > ceilings[round - 1] - 1us));
    }
}

BOOST_AUTO_TEST_CASE(pause_after_denial_shrinks_with_each_denial)
{
    auto const most = [](std::size_t denied) { return pause_after_denial(denied, 0, ~0ULL); };
    BOOST_TEST((most(1) > 23ms && most(1) <= 24ms));
    for (std::size_t denied = 1; denied < 40; ++denied) {
        BOOST_TEST((most(denied + 1) <= most(denied)));
        BOOST_TEST((pause_after_denial(denied, 0, 0) >= 1ms));  // clearly longer than a round trip
    }
    BOOST_TEST((most(16) <= 4ms));
    BOOST_TEST((most(1'000'000) == most(16)));
    BOOST_TEST((pause_after_denial(0, 0, 0) == 6ms));
}

BOOST_AUTO_TEST_CASE(pause_after_denial_grows_while_the_holder_is_the_same)
{
    for (std::size_t const denied : {1u, 4u, 16u, 1'000'000u}) {
        for (std::size_t unchanged = 0; unchanged < 10; ++unchanged) {
            auto const now = pause_after_denial(denied, unchanged, 0),
                       next = pause_after_denial(denied, unchanged + 1, 0);
            BOOST_TEST((next == std::min<std::chrono::nanoseconds>(2 * now, 64ms)));
        }
        BOOST_TEST((pause_after_denial(denied, 1'000'000, ~0ULL) <= 256ms));
    }
}

// Rule 10 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(pause_after_depends_on_the_random_bits)
{
    BOOST_TEST((pause_after(3, 1ULL << 62) != pause_after(3, 3ULL << 61)));
}

BOOST_AUTO_TEST_CASE(reconnection_pause_grows_up_to_half_a_second)
{
    std::chrono::milliseconds const ceilings[] = {10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 500ms, 500ms};
    for (std::size_t failures = 0; failures < std::size(ceilings); ++failures) {
        BOOST_TEST((reconnection_pause(failures, 0) == ceilings[failures] / 2));
        BOOST_TEST((reconnection_pause(failures, 1) == ceilings[failures]));
    }
    BOOST_TEST((reconnection_pause(1'000'000, 1) == reconnection_pause_max));
}

BOOST_AUTO_TEST_CASE(pause_after_a_million_rounds_does_not_overflow)
{
    BOOST_TEST((pause_after(1'000'000, ~0ULL) <= 256ms));
    BOOST_TEST((pause_after(0, 0) > 0ms));
}

BOOST_AUTO_TEST_CASE(pause_after_failure_doubles_between_min_and_max)
{
    auto const between = [](std::size_t failures, std::chrono::milliseconds min, std::chrono::milliseconds max,
                            std::chrono::milliseconds least, std::chrono::milliseconds most) {
        auto const range = pause_after_failure(failures, min, max);
        return range.least == least && range.most == most;
    };
    BOOST_TEST(between(1, 1s, 60s, 1s, 2s));
    BOOST_TEST(between(2, 1s, 60s, 2s, 4s));
    BOOST_TEST(between(5, 1s, 60s, 16s, 32s));
    BOOST_TEST(between(6, 1s, 60s, 30s, 60s));
    BOOST_TEST(between(1'000'000'000, 1s, 60s, 30s, 60s));
    BOOST_TEST(between(3, 40s, 60s, 40s, 60s));
    BOOST_TEST(between(7, 5s, 5s, 5s, 5s));
}

BOOST_AUTO_TEST_CASE(delay_after_is_shorter_after_denials_and_longer_after_races)
{
    auto const least = [](std::size_t denied, std::size_t races, std::chrono::nanoseconds trip) {
        return delay_after(denied, races, 0, trip, 0);
    };
    auto const most = [](std::size_t denied, std::size_t races, std::chrono::nanoseconds trip) {
        return delay_after(denied, races, 0, trip, ~0ull);
    };
    BOOST_TEST((least(1, 0, 1ms) == 500us));
    BOOST_TEST((most(1, 0, 1ms) > 990us && most(1, 0, 1ms) <= 1ms));
    BOOST_TEST((most(2, 0, 1ms) <= least(1, 0, 1ms)));
    BOOST_TEST((most(8, 0, 1ms) <= 125us));
    BOOST_TEST((least(0, 0, 1ms) == least(1, 0, 1ms)));
    BOOST_TEST((least(1, 0, 1us) == 50us));  // a round counts as 100 us or more
    for (std::size_t const denied : {1u, 8u, 1000u, 1'000'000u}) {
        BOOST_TEST((least(denied, 0, 1ms) >= 1ms / 16));  // a lower bound for any number of denials
        for (std::size_t races = 1; races < 20; ++races)
            BOOST_TEST((least(denied, races, 1ms)
                        >= std::min<std::chrono::nanoseconds>(2 * least(denied, races - 1, 1ms), 8ms)));
        BOOST_TEST((most(denied, 1000, 1ms) <= 16ms));
    }
    BOOST_TEST((most(1, 1000, 1s) <= 256ms));
}

BOOST_AUTO_TEST_CASE(delay_after_lets_those_ahead_ask_first)
{
    for (std::chrono::nanoseconds const trip : {std::chrono::nanoseconds(1us), std::chrono::nanoseconds(1ms)}) {
        BOOST_TEST((delay_after(1, 0, 1, trip, 0) > delay_after(1, 0, 0, trip, ~0ull)));
        BOOST_TEST((delay_after(1, 0, 2, trip, 0) > delay_after(1, 0, 1, trip, ~0ull)));
    }
    BOOST_TEST((delay_after(8, 0, 2, 1ms, ~0ull) < 17ms));  // the shortest yield_time
    BOOST_TEST((delay_after(1, 1000, 1000, 1h, ~0ull) <= 256ms));
    for (std::size_t ahead = 0; ahead < 5; ++ahead)
        BOOST_TEST((delay_after(1, 1000, ahead, 1ms, ~0ull) <= 16ms));
}

BOOST_AUTO_TEST_CASE(stand_by_is_shorter_than_nodes_believe_in_a_client)
{
    BOOST_TEST((stand_by(0) == 400ms));
    BOOST_TEST((stand_by(~0ull) > 799ms && stand_by(~0ull) <= 800ms));
}

BOOST_AUTO_TEST_CASE(retry_after_with_a_told_time_adds_at_most_a_quarter)
{
    BOOST_TEST((retry_after(8s, 1, 0) == 8s));
    BOOST_TEST((retry_after(8s, 1, ~0ULL) == 9'999ms));
    BOOST_TEST((retry_after(8s, 1, 1ULL << 63) == 9s));
    BOOST_TEST((retry_after(8s, 1'000'000, 0) == 8s));  // the number of attempts does not matter
    BOOST_TEST((retry_after(1ms, 1, 0) == 1s));
    BOOST_TEST((retry_after(24h, 1, 0) == 60s));
    BOOST_TEST((retry_after(std::chrono::milliseconds::max(), 1, ~0ULL) == 74'999ms));
}

BOOST_AUTO_TEST_CASE(retry_after_without_a_told_time_doubles_up_to_a_minute)
{
    std::chrono::seconds const pauses[] = {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s};
    for (std::size_t attempt = 1; attempt <= 8; ++attempt)
        BOOST_TEST((retry_after(0ms, attempt, 0) == pauses[attempt - 1]));
    BOOST_TEST((retry_after(0ms, 0, 0) == 1s));
    BOOST_TEST((retry_after(-1ms, 1, 0) == 1s));
    BOOST_TEST((retry_after(0ms, ~std::size_t{0}, ~0ULL) == 74'999ms));
}

BOOST_AUTO_TEST_SUITE_END()
