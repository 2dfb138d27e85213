// The functions or procedures in the database do what the double in memory does.

#include "stores/store.hpp"
#include "support/random_steps.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <string>
#include <string_view>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(steps, *only_with_server())

BOOST_AUTO_TEST_CASE(the_database_does_what_the_double_in_memory_does_in_any_order)
{
    // With a memory that is long enough for the test, which may take its time.
    constexpr std::string_view second = this_store::second;
    for (auto text : this_store::schema("steps")) {
        for (auto at = text.find(second); at != text.npos; at = text.find(second, at + 1))
            text.replace(at, second.size(), this_store::thousand_seconds);
        BOOST_REQUIRE(!ask(server(), text).starts_with("error"));
    }
    auto const forget = [] {
        for (auto const* const table : {"steps", "steps_reader", "steps_tombstone"})
            ask(server(), fmt::format("DELETE FROM {} WHERE {} <> ''", table, this_store::key));
        ask(server(), "DELETE FROM steps_wish");
    };
    do_random_steps([url = server().url(this_store::steps)] { return make_node(url); }, forget);
}

BOOST_AUTO_TEST_SUITE_END()
