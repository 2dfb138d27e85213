#include "core/glob.hpp"
#include "locks/look/list_place.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

using namespace redlock;
using locks::list_place;

BOOST_AUTO_TEST_SUITE(glob)

BOOST_AUTO_TEST_CASE(matches_follows_the_patterns_of_redis)
{
    using core::matches;
    for (auto const& [pattern, text] : {std::pair("", ""),
                                        {"*", ""},
                                        {"**", "a"},
                                        {"a*b*c", "axxbyyc"},
                                        {"a?c", "abc"},
                                        {"[a-c]x", "bx"},
                                        {"[c-a]x", "bx"},
                                        {"[^a-c]x", "dx"},
                                        {"\\*", "*"},
                                        {"[\\]]", "]"},
                                        {"[abc", "b"},
                                        {"[a-]", "-"},
                                        {"\\", "\\"},
                                        {"*a", "aa"}})
        BOOST_TEST(matches(pattern, text), pattern << " and " << text);
    for (auto const& [pattern, text] : {std::pair("", "a"),
                                        {"a", ""},
                                        {"a*b*c", "axxbyy"},
                                        {"a?c", "ac"},
                                        {"[^a-c]x", "bx"},
                                        {"\\*", "a"},
                                        {"*a", "ab"},
                                        {"[]", "a"},
                                        {"?", ""}})
        BOOST_TEST(!matches(pattern, text), pattern << " and " << text);
    std::string const many_stars(100, '*'), long_text(500, 'a');
    BOOST_TEST(!matches(many_stars + 'b', long_text));
    BOOST_TEST(matches("[\x80-\xff]", "\xc3"));
}

BOOST_AUTO_TEST_CASE(literal_head_ends_at_the_first_special_character)
{
    BOOST_TEST(core::literal_head("job-*") == "job-");
    BOOST_TEST(core::literal_head("job\\-1") == "job");
    BOOST_TEST(core::literal_head("job-1") == "job-1");
    BOOST_TEST(core::literal_head("[a]") == "");
}

BOOST_AUTO_TEST_CASE(list_place_text_reads_back_as_the_same_place)
{
    for (auto const& on_node : {std::string(), std::string("17"), std::string("\0\xff-:", 4)}) {
        list_place const place{.node = 2, .failed = {0, 4}, .on_node = on_node};
        auto const read = list_place::read(place.text(), 5);
        BOOST_TEST_REQUIRE(read.has_value());
        BOOST_TEST((read->node == 2 && read->failed == place.failed && read->on_node == on_node));
        BOOST_TEST(!list_place::read(place.text(), 4));  // of other nodes
    }
    BOOST_TEST(list_place::read("", 1)->node == 0);
}

BOOST_AUTO_TEST_SUITE_END()
