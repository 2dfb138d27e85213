// Compares the functions or procedures in a database with the lock table in memory, in random steps.

#include "stores/store.hpp"
#include "support/random_steps.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <string>
#include <string_view>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(steps, *only_with_server())

BOOST_AUTO_TEST_CASE(functions_in_random_order_behave_like_lock_table)
{
    // The database remembers denied clients and hand-overs for longer, because the test may be slow.
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
