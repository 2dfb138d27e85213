#include "core/reply_check.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>

using namespace redlock::core;

BOOST_AUTO_TEST_SUITE(reply_check)

BOOST_AUTO_TEST_CASE(is_fencing_token_excludes_zero_and_numbers_from_2_to_the_53)
{
    BOOST_TEST(!is_fencing_token(0));
    BOOST_TEST(is_fencing_token(1));
    BOOST_TEST(is_fencing_token((std::uint64_t(1) << 53) - 1));
    BOOST_TEST(!is_fencing_token(std::uint64_t(1) << 53));
    BOOST_TEST(!is_fencing_token(std::numeric_limits<std::uint64_t>::max()));
}

BOOST_AUTO_TEST_CASE(token_raised_by_a_proposal_is_the_counter_from_the_proposal_on)
{
    BOOST_TEST(token_raised_by(7, 6) == 0u);
    BOOST_TEST(token_raised_by(7, 7) == 7u);
    BOOST_TEST(token_raised_by(7, 9) == 9u);
}

BOOST_AUTO_TEST_CASE(token_raised_by_a_round_is_0_if_the_counter_is_no_token)
{
    BOOST_TEST(token_raised_by(7, 0) == 0u);
    BOOST_TEST(token_raised_by(7, fence_end - 1) == fence_end - 1);
    BOOST_TEST(token_raised_by(7, fence_end) == 0u);
    BOOST_TEST(token_raised_by(0, fence_end) == 0u);
}

// Without fencing, nothing is proposed.
BOOST_AUTO_TEST_CASE(token_raised_by_no_proposal_is_the_counter)
{
    BOOST_TEST(token_raised_by(0, 0) == 0u);
    BOOST_TEST(token_raised_by(0, 5) == 5u);
}

BOOST_AUTO_TEST_CASE(key_bounds_have_the_indexes_of_the_keys_only)
{
    key_bounds const three(3);

    BOOST_TEST(three.has(0));
    BOOST_TEST(three.has(2));
    BOOST_TEST(!three.has(3));
    BOOST_TEST(!three.has(std::numeric_limits<std::uint32_t>::max()));
    BOOST_TEST(!key_bounds(0).has(0));
}

BOOST_AUTO_TEST_CASE(key_bounds_cut_the_number_of_first_keys)
{
    key_bounds const three(3);

    BOOST_TEST(three.first(0) == 0u);
    BOOST_TEST(three.first(3) == 3u);
    BOOST_TEST(three.first(4) == 3u);
    BOOST_TEST(three.first(std::numeric_limits<std::uint32_t>::max()) == 3u);
    BOOST_TEST(key_bounds(0).first(1) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
