// Settings of servers that people change: each must not matter.

#include "stores/store.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(settings_of_mysql, event_loop, *only_with_server())

BOOST_AUTO_TEST_CASE(acquire_with_unusual_modes_of_the_server_succeeds)
{
    for (std::string const mode : {"ORACLE", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,IGNORE_SPACE", ""}) {
        mariadb_server s({"--sql-mode=" + mode, "--transaction-isolation=SERIALIZABLE", "--autocommit=0",
                          "--character-set-server=latin1", "--collation-server=latin1_german1_ci",
                          "--innodb-lock-wait-timeout=1", "--completion-type=CHAIN"});
        check_locks(r, on(s.url()));
    }
}

// The server ends connections that were idle for a second, and statements that take longer.
BOOST_AUTO_TEST_CASE(acquire_on_a_server_that_ends_idle_connections_succeeds)
{
    mariadb_server s(
        {"--wait-timeout=1", "--interactive-timeout=1", "--max-statement-time=1", "--idle-transaction-timeout=1"});
    check_locks(r, on(s.url("?connections=4")), 3s);
}

BOOST_AUTO_TEST_SUITE_END()
