// A MariaDB database passes the suite of all nodes.

#include <redlock/testing/node_suite.hpp>

#include "support/mariadb.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <exception>
#include <string>

using namespace redlock;
using namespace redlock::test;
using testing::node_kind;

BOOST_AUTO_TEST_SUITE(node_suite, *only_with_mariadb())

namespace {

void check(std::string const& url)
{
    node_kind const kind{.make = [url] { return make_mysql_node(url); }};
    for (auto const& c : testing::node_cases()) {
        if (!c.concerns(kind))
            continue;
        try {
            c.run(kind);
        } catch (std::exception const& e) {
            BOOST_ERROR(std::string(c.name) + ": " + e.what());
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_real_server)
{
    check(database().url("?timeout=20s"));
}

BOOST_AUTO_TEST_CASE(one_connection_and_another_table)
{
    check(database().url("?connections=1&table=locks_of_mine&timeout=20s"));
}

BOOST_AUTO_TEST_CASE(a_unix_socket)
{
    check("mariadb://redlock@/redlock?socket=" + database().socket() + "&timeout=20s");
}

// Managed by somebody else: REDLOCK_TEST_MYSQL_URL names it.
BOOST_AUTO_TEST_CASE(the_database_that_is_named)
{
    if (auto const* const url = std::getenv("REDLOCK_TEST_MYSQL_URL"))
        check(url);
}

BOOST_AUTO_TEST_SUITE_END()
