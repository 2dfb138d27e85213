#pragma once

#include "testbed/postgres_server.hpp"

#include <redlock/config.hpp>
#include <redlock/postgresql.hpp>

#include <boost/test/unit_test.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace redlock::test {

using testbed::postgres_server;

/// Tests that need a PostgreSQL server are left out, and that is said, where there is none.
inline auto only_with_postgresql()
{
    return boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
        static bool const is_here = !testbed::postgres_programs().empty();
        static bool told = is_here;
        if (!std::exchange(told, true))
            std::cout << "skipped: there is no PostgreSQL server here (Debian's package postgresql)\n";
        return boost::test_tools::assertion_result(is_here);
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
