#pragma once

#include "testbed/mariadb_server.hpp"

#include <redlock/config.hpp>
#include <redlock/mysql.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <mysql.h>
#include <string>

namespace redlock::test {

using testbed::mariadb_server;

/// Tests that need a MariaDB server are left out, and that is said, where there is none.
inline auto only_with_mariadb()
{
    return boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
        boost::test_tools::assertion_result can(!testbed::mariadb_program().empty());
        can.message() << "skipped: there is no MariaDB server here (Debian's package mariadb-server-core)";
        return can;
    });
}

/// A node by itself.
inline std::shared_ptr<node> make_mysql_node(std::string const& url, config const& c = {})
{
    return mysql().make(url, c, {.claim = [](std::string const&, std::string const&) { return std::string(); }});
}

/// One for all cases that do it no harm. What is committed need not last.
inline mariadb_server& database()
{
    static mariadb_server server({"--innodb-flush-log-at-trx-commit=0"});
    return server;
}

/// A connection for statements of the test, which wait.
class mariadb_client {
public:
    explicit mariadb_client(mariadb_server const& s, std::string const& user = "redlock") : handle_(mysql_init(nullptr), mysql_close)
    {
        BOOST_REQUIRE_MESSAGE(mysql_real_connect(handle_.get(), "127.0.0.1", user.c_str(), "", "redlock", s.port(), nullptr,
                                                 CLIENT_MULTI_RESULTS | CLIENT_MULTI_STATEMENTS),
                              mysql_error(handle_.get()));
    }

    /// The first column of the last row of the last result; "error: …"
    std::string ask(std::string const& sql)
    {
        std::string said;
        int more = mysql_real_query(handle_.get(), sql.data(), sql.size());
        for (; more == 0; more = mysql_next_result(handle_.get())) {
            std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> const rows(mysql_store_result(handle_.get()), mysql_free_result);
            for (MYSQL_ROW row = nullptr; rows && (row = mysql_fetch_row(rows.get()));)
                said = row[0] ? row[0] : "";
        }
        return more > 0 ? std::string("error: ") + mysql_error(handle_.get()) : said;
    }

private:
    std::unique_ptr<MYSQL, void (*)(MYSQL*)> const handle_;
};

/// The same, for one statement.
inline std::string ask(mariadb_server const& s, std::string const& sql)
{
    return mariadb_client(s).ask(sql);
}

}  // namespace redlock::test
