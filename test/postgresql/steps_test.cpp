// The functions in the database do what the double in memory does.

#include "stores/postgresql/schema.hpp"
#include "support/postgres.hpp"
#include "support/random_steps.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(steps, *only_with_postgresql())

namespace {

constexpr auto table = "steps";

// With a memory that is long enough for the test, which may take its time.
void make_tables()
{
    auto text = pg::for_table(pg::schema(), table);
    for (auto at = text.find("interval '1 s'"); at != text.npos; at = text.find("interval '1 s'", at + 1))
        text.replace(at, 14, "interval '1000 s'");
    BOOST_REQUIRE(!database().ask(text).starts_with("error"));
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_database_does_what_the_double_in_memory_does_in_any_order)
{
    make_tables();
    do_random_steps([url = database().url(fmt::format("?table={}&connections=1", table))] { return make_node(url); },
                    [] { database().ask(fmt::format("DELETE FROM {0} WHERE key <> ''; DELETE FROM {0}_reader WHERE key <> ''; DELETE FROM {0}_wish; DELETE FROM {0}_tombstone WHERE key <> ''", table)); });
}

BOOST_AUTO_TEST_SUITE_END()
