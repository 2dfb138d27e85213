// The procedures in the database do what the double in memory does.

#include "stores/mysql/schema.hpp"
#include "support/mariadb.hpp"
#include "support/random_steps.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(steps, *only_with_mariadb())

namespace {

constexpr auto table = "steps";

// With a memory that is long enough for the test, which may take its time.
void make_tables(mariadb_client& database)
{
    auto text = my::for_table(my::schema(), table);
    constexpr std::string_view second = "INTERVAL 1 SECOND";
    for (auto at = text.find(second); at != text.npos; at = text.find(second, at + 1))
        text.replace(at, second.size(), "INTERVAL 1000 SECOND");
    for (auto const& statement : my::statements_of(text))
        BOOST_TEST(database.ask(statement) == "");
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_database_does_what_the_double_in_memory_does_in_any_order)
{
    mariadb_client client(database());
    make_tables(client);
    do_random_steps([url = database().url(fmt::format("?table={}&connections=1&timeout=20s", table))] { return make_mysql_node(url); },
                    [&] { client.ask(fmt::format("DELETE FROM {0} WHERE lock_key <> ''; DELETE FROM {0}_reader WHERE lock_key <> ''; DELETE FROM {0}_wish;"
                                                 "DELETE FROM {0}_tombstone WHERE lock_key <> ''", table)); });
}

BOOST_AUTO_TEST_SUITE_END()
