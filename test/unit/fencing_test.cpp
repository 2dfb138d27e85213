#include "core/fencing.hpp"

#include <boost/test/unit_test.hpp>

#include <initializer_list>
#include <random>

using namespace redlock::core;

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

BOOST_AUTO_TEST_CASE(the_token_is_the_highest_counter)
{
    BOOST_TEST(tally_of({}).token() == 0u);
    BOOST_TEST(tally_of({}).agreed() == 0u);
    BOOST_TEST(tally_of({3, 9, 4}).token() == 9u);
    BOOST_TEST(tally_of({9, 3}).token() == 9u);
}

BOOST_AUTO_TEST_CASE(those_that_have_exactly_that_agree)
{
    BOOST_TEST(tally_of({7, 7, 7}).agreed() == 3u);
    BOOST_TEST(tally_of({6, 7, 7}).agreed() == 2u);
    BOOST_TEST(tally_of({7, 7, 8}).agreed() == 1u);
    BOOST_TEST(tally_of({8, 7, 7, 8}).agreed() == 2u);
}

BOOST_AUTO_TEST_CASE(a_hint_is_the_time_with_who_asks_in_the_low_bits)
{
    std::uint64_t const now = 1'795'000'000'123'456;
    for (int who = 0; who < 256; ++who) {
        auto const hint = fence_hint(now, static_cast<std::uint8_t>(who));
        BOOST_TEST(hint % 256 == static_cast<unsigned>(who));
        BOOST_TEST(hint / 256 == now / 256);
    }
    BOOST_TEST(fence_hint(now, 1) != fence_hint(now, 2));
}

BOOST_AUTO_TEST_CASE(a_hint_is_exact_in_the_arithmetic_of_scripts_whatever_the_clock_says)
{
    std::mt19937_64 random(1);
    for (int i = 0; i < 1000; ++i) {
        auto const hint = fence_hint(random(), 255);
        BOOST_TEST(hint < fence_end);
        BOOST_TEST(static_cast<std::uint64_t>(static_cast<double>(hint)) == hint);
    }
}

BOOST_AUTO_TEST_CASE(a_hint_is_never_zero_which_would_be_no_fencing)
{
    BOOST_TEST(fence_hint(0, 0) == 1u);
    BOOST_TEST(fence_hint(fence_end, 0) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
