#include "core/quorum.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

using namespace redlock::core;

BOOST_AUTO_TEST_SUITE(quorum)

namespace {

// A tally after some votes: y is granted, n is denied, - is missing.
tally after(std::size_t nodes, std::string_view votes)
{
    tally t(nodes);
    for (char const v : votes)
        v == 'y' ? t.grant() : v == 'n' ? t.deny() : t.miss();
    return t;
}

}  // namespace

// Rule 3 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(majority_is_half_rounded_down_plus_one)
{
    std::size_t const expected[] = {1, 2, 2, 3, 3, 4, 4, 5, 5};
    for (std::size_t n = 1; n <= 9; ++n)
        BOOST_TEST(majority(n) == expected[n - 1]);
}

BOOST_AUTO_TEST_CASE(majority_of_the_nodes_shares_a_node_with_any_other)
{
    for (std::size_t n = 1; n <= 99; ++n)
        BOOST_TEST(2 * majority(n) > n);
}

BOOST_AUTO_TEST_CASE(verdict_of_any_votes_is_decided_by_the_last_one_at_the_latest)
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
                    BOOST_TEST_REQUIRE((t.verdict() == before));  // a verdict does not change later
                before = t.verdict();
            }
            BOOST_TEST_REQUIRE((t.verdict() == (granted >= majority(n) ? verdict::won : verdict::lost)));
        }
    }
}

BOOST_AUTO_TEST_CASE(verdict_of_an_even_split_is_lost)
{
    BOOST_TEST((after(4, "yyn").verdict() == verdict::open));
    BOOST_TEST((after(4, "yynn").verdict() == verdict::lost));
}

// Rule 4 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(refused_and_contended_without_a_quorum_of_answers_are_false)
{
    BOOST_TEST((after(3, "--").verdict() == verdict::lost));
    for (auto const* votes : {"--", "--n"}) {
        BOOST_TEST(!after(3, votes).refused());
        BOOST_TEST(!after(3, votes).contended());
    }
}

BOOST_AUTO_TEST_CASE(contended_is_true_unless_missing_votes_alone_prevent_the_win)
{
    auto const t = after(5, "--n");
    BOOST_TEST((t.verdict() == verdict::lost));
    BOOST_TEST(t.contended());  // two of five votes may be missing; the holder prevented the win
    BOOST_TEST(!t.refused());
    BOOST_TEST(!after(5, "---n").contended());
}

// For any one of several keys: a digit is the key that the node has chosen; n and - as above.
namespace {

tally after_choices(std::size_t nodes, std::string_view votes)
{
    tally t(nodes);
    std::vector<std::uint32_t> chosen;
    for (char const v : votes) {
        if (v == 'n' || v == '-') {
            v == 'n' ? t.deny() : t.miss();
            continue;
        }
        chosen.push_back(static_cast<std::uint32_t>(v - '0'));
        t.grant(most_frequent_of(chosen).times);
    }
    return t;
}

}  // namespace

BOOST_AUTO_TEST_CASE(grant_of_any_key_counts_only_the_most_frequent_choice)
{
    BOOST_TEST((after_choices(3, "11").verdict() == verdict::won));
    BOOST_TEST((after_choices(3, "12").verdict() == verdict::open));
    BOOST_TEST((after_choices(3, "121").verdict() == verdict::won));
    BOOST_TEST((after_choices(3, "123").verdict() == verdict::lost));
    BOOST_TEST((after_choices(3, "12n").verdict() == verdict::lost));
    BOOST_TEST((after_choices(5, "12222").verdict() == verdict::won));
    BOOST_TEST((after_choices(5, "1122").verdict() == verdict::open));
    BOOST_TEST((after_choices(5, "11223").verdict() == verdict::lost));
    BOOST_TEST((after_choices(5, "123").verdict() == verdict::open));
    BOOST_TEST((after_choices(5, "1234").verdict() == verdict::lost));
    BOOST_TEST(after_choices(3, "12-").contended());
    BOOST_TEST(!after_choices(3, "1--").contended());
    BOOST_TEST(after_choices(5, "112--").lost_for_want_of(1));
    BOOST_TEST(!after_choices(5, "12n--").lost_for_want_of(1));
}

BOOST_AUTO_TEST_CASE(most_frequent_of_a_tie_is_the_smallest_number)
{
    auto const most = [](std::vector<std::uint32_t> each) { return most_frequent_of(each); };
    BOOST_TEST(most({}).times == 0u);
    BOOST_TEST(most({7}).number == 7u);
    BOOST_TEST(most({7, 3, 7}).number == 7u);
    BOOST_TEST(most({7, 3, 7}).times == 2u);
    BOOST_TEST(most({7, 3}).number == 3u);
    BOOST_TEST(most({3, 7, 7, 3, 0}).number == 3u);
}

BOOST_AUTO_TEST_CASE(quorum_value_is_the_largest_that_a_quorum_reaches)
{
    auto const least = [](std::vector<int> each, std::size_t quorum) { return of_a_quorum<int>(each, quorum); };
    BOOST_TEST(least({3}, 1) == 3);
    BOOST_TEST(least({1, 5}, 2) == 1);
    BOOST_TEST(least({1, 5, 3}, 2) == 3);
    BOOST_TEST(least({5, 1, 5}, 2) == 5);
    BOOST_TEST(least({1, 2, 3, 4, 5}, 3) == 3);
    BOOST_TEST(least({1, 2, 3, 4, 5}, 5) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
