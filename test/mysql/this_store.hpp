#pragma once

#include "stores/mysql/schema.hpp"
#include "stores/mysql/session.hpp"
#include "support/counting_processes.hpp"
#include "bed/mariadb_server.hpp"

#include <redlock/mysql.hpp>
#include <redlock/testing/node_suite.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mysql.h>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

using testbed::mariadb_server;

/// A connection for the test's own statements. Each call waits for its answer.
class mariadb_client {
public:
    explicit mariadb_client(mariadb_server const& s, std::string const& user = "redlock")
        : handle_(mysql_init(nullptr), mysql_close)
    {
        BOOST_REQUIRE_MESSAGE(mysql_real_connect(handle_.get(), "127.0.0.1", user.c_str(), "", "redlock", s.port(),
                                                 nullptr, CLIENT_MULTI_RESULTS | CLIENT_MULTI_STATEMENTS),
                              mysql_error(handle_.get()));
    }

    /// @return the first column of the last row of the last result; or "error: …"
    std::string ask(std::string const& sql)
    {
        std::string said;
        int more = mysql_real_query(handle_.get(), sql.data(), sql.size());
        for (; more == 0; more = mysql_next_result(handle_.get())) {
            std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> const rows(mysql_store_result(handle_.get()),
                                                                        mysql_free_result);
            for (MYSQL_ROW row = nullptr; rows && (row = mysql_fetch_row(rows.get()));)
                said = row[0] ? row[0] : "";
        }
        return more > 0 ? std::string("error: ") + mysql_error(handle_.get()) : said;
    }

private:
    std::unique_ptr<MYSQL, void (*)(MYSQL*)> const handle_;
};

/// As @ref mariadb_client::ask, on a connection for one statement.
inline std::string ask(mariadb_server const& s, std::string const& sql) { return mariadb_client(s).ask(sql); }

/// The parameters of the cases in test/stores, for MariaDB.
struct this_store {
    using server = mariadb_server;
    using options = std::vector<std::string>;

    static constexpr auto missing = "there is no MariaDB server here (Debian's package mariadb-server-core)";
    static bool is_here() { return !testbed::mariadb_program().empty(); }
    static store make() { return mysql(); }

    static inline options const durable{};  ///< the server flushes before it confirms
    /// The server does not flush each commit. This is fast, but the server counts as one that forgets.
    static inline options const quick{"--innodb-flush-log-at-trx-commit=0"};
    static inline options const plain_bytes = quick;

    static testing::node_kind kind() { return {}; }
    static constexpr auto patient = "?timeout=20s";
    static constexpr auto one_connection = "?connections=1&table=locks_of_mine&timeout=20s";
    static constexpr auto named_by = "REDLOCK_TEST_MYSQL_URL";

    static std::vector<std::string> schema(std::string const& table)
    {
        return stores::mysql::statements_of(stores::kit::for_table(stores::mysql::schema(), table));
    }
    static constexpr auto second = "INTERVAL 1 SECOND", thousand_seconds = "INTERVAL 1000 SECOND", key = "lock_key";
    static constexpr auto steps = "?table=steps&connections=1&timeout=20s";

    static constexpr auto hurried = "?connections=2&timeout=200ms";
    static constexpr auto life = counting_ttl;
    static constexpr newcomer_life newcomers{};

    /// The longest wait for an acquisition that should be granted at once.
    static constexpr std::chrono::milliseconds first_wait = 20s;

    static std::string url_at(std::uint16_t port, std::string const& user, std::string const& rest = {})
    {
        return fmt::format("mysql://{}@127.0.0.1:{}/redlock{}", user, port, rest);
    }
    static std::shared_ptr<stores::kit::session> make_session(asio::any_io_executor e, std::string const& url,
                                                              stores::kit::session::owner& o)
    {
        auto const address = std::make_shared<stores::mysql::address const>(stores::mysql::parse_address(url, {}));
        return std::make_shared<stores::mysql::session>(std::move(e), address, 5s, o);
    }
    static void change_session_defaults(server const&) {}

    /// For the case with a name of any bytes.
    static bool shows_odd_name(server const& s) { return !ask(s, "CALL redlock_locks()").starts_with("error"); }

    // SQL queries.
    static std::string connections_with(std::int64_t id)
    {
        return fmt::format("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {}", id);
    }
    static std::string locks_of(std::string const& table) { return "CALL " + table + "_locks()"; }
    static constexpr auto owner_seen =
        "SELECT SUBSTRING_INDEX(SUBSTRING_INDEX(value, CHAR(31), 1), ':', -1) FROM seen WHERE lock_key = 'lock:stock'";
    static constexpr auto seen_for_30_s = "SELECT expires > UTC_TIMESTAMP(6) + INTERVAL 30 SECOND FROM seen "
                                          "WHERE lock_key = 'lock:stock'";
    static constexpr auto sets_of_tables = "SELECT COUNT(*) FROM redlock_server";
    static constexpr auto flushes = "SELECT @@innodb_flush_log_at_trx_commit", yes = "1";

    static void stop_flushing(server const& s)
    {
        BOOST_TEST(ask(s, "SET GLOBAL innodb_flush_log_at_trx_commit = 0") == "");
    }
    static void undo_settings(server const&) {}  // the settings end with the server's process

    /// Removes what release 0.1 did not have.
    static constexpr auto makes_older = "DROP TABLE redlock_record; DROP PROCEDURE redlock_sign";
    static constexpr auto older_client_meets = "CALL redlock_meet('a server')";

    static constexpr char const* drops[] = {
        "DROP TABLE redlock, redlock_reader, redlock_wish, redlock_tombstone, redlock_server, redlock_record; DROP "
        "PROCEDURE "
        "redlock_version",
        "DROP TABLE redlock",
    };
    static constexpr char const* losses[] = {
        "DROP TABLE {0}",
        "TRUNCATE {0}",
        "DELETE FROM {0}",
        "TRUNCATE {0}_tombstone; TRUNCATE {0}_reader; TRUNCATE {0}",
        "DROP TABLE {0}, {0}_reader, {0}_wish, {0}_tombstone, {0}_server, {0}_record",
        "TRUNCATE {0}; TRUNCATE {0}_reader; TRUNCATE {0}_wish; TRUNCATE {0}_tombstone; TRUNCATE {0}_server; TRUNCATE "
        "{0}_record",
    };
};

/// Messages, and the addresses that cause them.
inline std::pair<std::string, std::vector<std::string>> const wrong_addresses[] = {
    {"it has no user", {"mysql://h/db", "mysql://:geheim@h/db"}},
    {"it has no host", {"mysql://u:geheim@/db"}},
    {"it has no database", {"mysql://u:geheim@h"}},
    {"behind the host must be a port", {"mysql://u:geheim@h:port/db", "mysql://u:geheim@h:65536/db"}},
    {"percent-encoded", {"mysql://u:geheim/@h/db", "mysql://u:x@geheim,h2/db"}},
    {"two hexadecimal digits", {"mysql://u:geheim%zz@h/db"}},
    {"must be ]", {"mysql://u:geheim@[::1/db"}},
    {"it has an unknown parameter; known are table, connections", {"mysql://u:geheim@h/db?tabel=x"}},
    {"connections must be a number", {"mysql://u:geheim@h/db?connections=many"}},
    {"connections is 65, but must be 1 to 64", {"mysql://u:geheim@h/db?connections=65"}},
    {"timeout must end with \"ms\" or \"s\"", {"mysql://u:geheim@h/db?timeout=500"}},
    {"timeout is 0 ms, but must be 1 to 60000 ms", {"mysql://u:geheim@h/db?timeout=0ms"}},
    {"table is \"Locks\"", {"mysql://u:geheim@h/db?table=Locks"}},
    {"table is \"a.b\"", {"mysql://u:geheim@h/db?table=a.b"}},
    {"create_table must be on or off", {"mysql://u:geheim@h/db?create_table=yes"}},
    {"tls must be on, off or unverified", {"mysql://u:geheim@h/db?tls=maybe"}},
    {"tls is off", {"mysql://u:geheim@h/db?tls=off&ssl_ca=ca.pem"}},
    {"ssl_cert and ssl_key", {"mysql://u:geheim@h/db?ssl_key=geheim"}},
    {"it has a host and a socket", {"mysql://u:geheim@h/db?socket=/s"}},
};

}  // namespace redlock::test
