#include "core/fencing.hpp"

#include <boost/test/unit_test.hpp>

#include <initializer_list>
#include <random>
#include <vector>

using namespace redlock::core;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(fencing)

namespace {

fence_tally tally_of(std::initializer_list<std::uint64_t> counters)
{
    fence_tally t;
    for (auto const c : counters)
        t.add(c);
    return t;
}

}  // namespace

BOOST_AUTO_TEST_CASE(fence_tally_finds_the_highest_counter_and_how_many_agree)
{
    BOOST_TEST(tally_of({}).highest() == 0u);
    BOOST_TEST(tally_of({}).agreed() == 0u);
    BOOST_TEST(tally_of({3, 9, 4}).highest() == 9u);
    BOOST_TEST(tally_of({9, 3}).highest() == 9u);
    BOOST_TEST(tally_of({7, 7, 7}).agreed() == 3u);
    BOOST_TEST(tally_of({6, 7, 7}).agreed() == 2u);
    BOOST_TEST(tally_of({7, 7, 8}).agreed() == 1u);
    BOOST_TEST(tally_of({8, 7, 7, 8}).agreed() == 2u);
}

BOOST_AUTO_TEST_CASE(common_counter_is_the_highest_number_that_a_quorum_has)
{
    using numbers = std::vector<std::uint64_t>;
    BOOST_TEST(common_counter(numbers{}, 1) == 0u);
    BOOST_TEST(common_counter(numbers{7}, 1) == 7u);
    BOOST_TEST(common_counter(numbers{7, 9, 8}, 1) == 9u);
    BOOST_TEST(common_counter(numbers{7, 7, 7}, 2) == 7u);
    BOOST_TEST(common_counter(numbers{7, 9, 7}, 2) == 7u);
    BOOST_TEST(common_counter(numbers{9, 7, 9, 7}, 2) == 9u);
    BOOST_TEST(common_counter(numbers{7, 8, 9}, 2) == 0u);
    BOOST_TEST(common_counter(numbers{7}, 2) == 0u);
}

namespace {

constexpr std::uint64_t now = 1'795'000'000'123'456;
constexpr std::uint64_t minute = 60'000'000;

}  // namespace

BOOST_AUTO_TEST_CASE(next_is_the_time_with_the_client_in_the_low_bits)
{
    for (unsigned who = 0; who < 16; ++who) {
        auto const proposal = fence_clock(static_cast<std::uint8_t>(who), 1min).next(now);
        BOOST_TEST(proposal % 16 == who);
        BOOST_TEST(proposal / 16 == now / 16);
    }
}

// A step of the clock is 16 us. If each proposal needed a step of its own, 62,500 a second would be the limit.
BOOST_AUTO_TEST_CASE(next_at_any_rate_does_not_outrun_the_clock)
{
    fence_clock clock(15, 1min);
    for (std::uint64_t i = 0; i < 100'000; ++i) {
        auto const time = now + i;  // a million a second
        BOOST_TEST_REQUIRE(clock.next(time) / 16 == time / 16);
    }
}

BOOST_AUTO_TEST_CASE(next_never_decreases_if_the_clock_jumps)
{
    std::mt19937_64 random(1);
    for (int i = 0; i < 100; ++i) {
        fence_clock clock(static_cast<std::uint8_t>(random()), 1min);
        std::uint64_t last = 0;
        for (int k = 0; k < 100; ++k) {
            auto const next = clock.next(random() % 3 == 0 ? now : random() >> random() % 64);
            BOOST_TEST(next >= last);
            BOOST_TEST(next > 0u);
            BOOST_TEST(next < fence_end);
            last = next;
        }
    }
}

BOOST_AUTO_TEST_CASE(next_with_a_broken_clock_ignores_the_clock)
{
    BOOST_TEST(fence_clock(3, 1min).next(0) == 19u);
    BOOST_TEST(fence_clock(3, 1min).next(fence_end) == 19u);
    BOOST_TEST(fence_clock(3, 1min).next(~std::uint64_t(0)) == 19u);
}

BOOST_AUTO_TEST_CASE(learn_from_a_clock_that_is_ahead_raises_the_proposals)
{
    fence_clock clock(0, 1min);
    clock.learn(now + 5'000'000, now);
    BOOST_TEST(clock.next(now + 1000) >= now + 5'000'000);
    clock.learn(now - 5'000'000, now);  // a clock that is behind changes nothing
    BOOST_TEST(clock.next(now + 2000) >= now + 5'000'000);
}

BOOST_AUTO_TEST_CASE(learn_from_a_clock_too_far_ahead_is_ignored)
{
    fence_clock clock(0, 1min);
    BOOST_TEST(!clock.learn(now + minute + 1, now));
    BOOST_TEST(clock.next(now) <= now);
    BOOST_TEST(clock.learn(now + minute, now));
    BOOST_TEST(clock.next(now + 16) > now + minute - 16);
}

BOOST_AUTO_TEST_SUITE_END()
