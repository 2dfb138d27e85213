#pragma once

#include "testbed/postgres_server.hpp"

#include <redlock/config.hpp>
#include <redlock/postgresql.hpp>

#include <boost/test/unit_test.hpp>

namespace redlock::test {

using testbed::postgres_server;

/// Tests that need a PostgreSQL server are left out, and that is said, where there is none.
inline auto only_with_postgresql()
{
    return boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
        boost::test_tools::assertion_result can(!testbed::postgres_programs().empty());
        can.message() << "skipped: there is no PostgreSQL server here (Debian's package postgresql)";
        return can;
    });
}

/// A node by itself.
inline std::shared_ptr<node> make_node(std::string const& url, config const& c = {})
{
    return postgresql().make(url, c, {.claim = [](std::string const&, std::string const&) { return std::string(); }});
}

/// One for all cases that do it no harm. What is committed need not last.
inline postgres_server& database()
{
    static postgres_server server({"fsync=off"});
    return server;
}

}  // namespace redlock::test
