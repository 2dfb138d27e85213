#include "core/quorum.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::core;

BOOST_AUTO_TEST_SUITE(quorum)

BOOST_AUTO_TEST_CASE(rule_3_majority_is_half_rounded_down_plus_one)
{
    std::size_t const expected[] = {1, 2, 2, 3, 3, 4, 4, 5, 5};
    for (std::size_t n = 1; n <= 9; ++n)
        BOOST_TEST(majority(n) == expected[n - 1]);
}

BOOST_AUTO_TEST_CASE(two_majorities_always_share_a_node)
{
    for (std::size_t n = 1; n <= 99; ++n)
        BOOST_TEST(2 * majority(n) > n);
}

BOOST_AUTO_TEST_CASE(every_sequence_of_votes_ends_with_the_last_one_at_the_latest)
{
    for (std::size_t n = 1; n <= 7; ++n) {
        std::size_t sequences = 1;
        for (std::size_t i = 0; i < n; ++i)
            sequences *= 3;
        for (std::size_t s = 0; s < sequences; ++s) {
            tally t(n);
            std::size_t granted = 0;
            auto before = verdict::open;
            for (std::size_t i = 0, rest = s; i < n; ++i, rest /= 3) {
                rest % 3 == 0 ? t.grant() : rest % 3 == 1 ? t.deny() : t.miss();
                granted += rest % 3 == 0;
                if (before != verdict::open)
                    BOOST_TEST_REQUIRE((t.verdict() == before));  // what is decided stays decided
                before = t.verdict();
            }
            BOOST_TEST_REQUIRE((t.verdict() == (granted >= majority(n) ? verdict::won : verdict::lost)));
        }
    }
}

BOOST_AUTO_TEST_CASE(an_even_split_is_lost_with_the_vote_that_makes_it)
{
    tally t(4);
    t.grant();
    t.grant();
    t.deny();
    BOOST_TEST((t.verdict() == verdict::open));
    t.deny();
    BOOST_TEST((t.verdict() == verdict::lost));
}

BOOST_AUTO_TEST_CASE(rule_4_unknown_is_not_denied)
{
    tally t(3);
    t.miss();
    t.miss();
    BOOST_TEST((t.verdict() == verdict::lost));
    BOOST_TEST(!t.refused());
    BOOST_TEST(!t.contended());
    t.deny();
    BOOST_TEST(!t.refused());
    BOOST_TEST(!t.contended());
}

BOOST_AUTO_TEST_CASE(a_lost_round_was_contended_unless_the_missing_nodes_alone_prevented_the_win)
{
    tally t(5);
    t.miss();
    t.miss();
    t.deny();
    BOOST_TEST((t.verdict() == verdict::lost));
    BOOST_TEST(t.contended());  // two of five may be missing; it was the holder that was in the way
    BOOST_TEST(!t.refused());

    tally u(5);
    u.miss();
    u.miss();
    u.miss();
    u.deny();
    BOOST_TEST(!u.contended());
}

BOOST_AUTO_TEST_SUITE_END()
