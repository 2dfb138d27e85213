#pragma once

#include "stores/postgresql/schema.hpp"
#include "stores/postgresql/session.hpp"
#include "support/counting_processes.hpp"
#include "bed/postgres_server.hpp"

#include <redlock/postgresql.hpp>
#include <redlock/testing/node_suite.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

using testbed::postgres_server;

/// The parameters of the cases in test/stores, for PostgreSQL.
struct this_store {
    using server = postgres_server;
    using options = std::vector<std::string>;

    static constexpr auto missing = "there is no PostgreSQL server here (Debian's package postgresql)";
    static bool is_here() { return !testbed::postgres_programs().empty(); }
    static store make() { return postgresql(); }

    static inline options const durable{};  ///< the server flushes before it confirms
    static inline options const quick{"fsync=off"};
    static inline options const plain_bytes{"fsync=off", "bytea_output=escape"};

    static testing::node_kind kind() { return {}; }
    static constexpr auto patient = "?timeout=20s";
    static constexpr auto one_connection = "?connections=1&table=locks_of_mine&prepare=off";
    static constexpr auto named_by = "REDLOCK_TEST_URL";

    static std::vector<std::string> schema(std::string const& table)
    {
        return {stores::kit::for_table(stores::postgresql::schema(), table)};
    }
    static constexpr auto second = "interval '1 s'", thousand_seconds = "interval '1000 s'", key = "key";
    static constexpr auto steps = "?table=steps&connections=1";

    static constexpr auto hurried = "?connections=2&timeout=200ms";
    static constexpr auto life = counting_ttl;
    static constexpr newcomer_life newcomers{};

    /// The longest wait for an acquisition that should be granted at once; 0: none.
    static constexpr std::chrono::milliseconds first_wait{0};

    static std::string url_at(std::uint16_t port, std::string const& user, std::string const& rest = {})
    {
        return fmt::format("postgresql://{}@127.0.0.1:{}/postgres{}", user, port, rest);
    }
    static std::shared_ptr<stores::kit::session> make_session(asio::any_io_executor e, std::string const& url,
                                                              stores::kit::session::owner& o)
    {
        auto const address =
            std::make_shared<stores::postgresql::address const>(stores::postgresql::parse_address(url, {}));
        return std::make_shared<stores::postgresql::session>(std::move(e), address, nullptr, 5s, false, o);
    }
    /// Changes how new connections show times.
    static void change_session_defaults(server const& s)
    {
        s.ask("ALTER DATABASE postgres SET timezone = 'Asia/Tokyo'");
        s.ask("ALTER DATABASE postgres SET datestyle = 'German'");
    }

    /// For the case with a name of any bytes.
    static bool shows_odd_name(server const& s)
    {
        auto const shows = "key LIKE '%it''s%377%000nnn%' AND value LIKE '%:%375%since=%'";
        return s.ask(std::string("SELECT bool_and(") + shows + ") FROM redlock_locks") == "t";
    }

    // SQL queries.
    static std::string connections_with(std::int64_t id)
    {
        return fmt::format("SELECT count(*) FROM pg_stat_activity WHERE pid = {}", id);
    }
    static std::string locks_of(std::string const& table) { return "SELECT key FROM " + table + "_locks"; }
    static constexpr auto owner_seen = "SELECT split_part(split_part(value, chr(31), 1), ':', 2) FROM seen_locks";
    static constexpr auto seen_for_30_s = "SELECT count(*) FROM seen_locks WHERE remaining > interval '30 s'";
    static constexpr auto sets_of_tables = "SELECT count(*) FROM pg_class WHERE relname = 'redlock'";
    static constexpr auto flushes = "SHOW fsync", yes = "on";

    static void stop_flushing(server const& s)
    {
        s.ask("ALTER SYSTEM SET fsync = off");
        s.ask("SELECT pg_reload_conf()");
    }
    static void undo_settings(server const& s) { std::ofstream(s.folder() + "/postgresql.auto.conf") << ""; }

    /// Removes what release 0.1 did not have.
    static constexpr auto makes_older = "DROP TABLE redlock_record; DROP FUNCTION redlock_sign";
    static constexpr auto older_client_meets = "SELECT age FROM redlock_meet(1)";

    static constexpr char const* drops[] = {
        "DROP VIEW redlock_locks; DROP TABLE redlock CASCADE; DROP TABLE redlock_reader, redlock_wish, "
        "redlock_tombstone, redlock_timeline, redlock_record;"
        "DROP FUNCTION redlock_version, redlock_meet, redlock_sign",
    };
    static constexpr char const* losses[] = {
        "DROP TABLE {0} CASCADE",
        "TRUNCATE {0}",
        "DELETE FROM {0}",
        "TRUNCATE {0}_reader",
        "DROP TABLE {0}, {0}_reader, {0}_wish, {0}_tombstone, {0}_timeline, {0}_record CASCADE",
        "TRUNCATE {0}, {0}_reader, {0}_wish, {0}_tombstone, {0}_timeline, {0}_record",
    };
};

/// Messages, and the addresses that cause them.
inline std::pair<std::string, std::vector<std::string>> const wrong_addresses[] = {
    {"\"tabel\"", {"postgresql://u:geheim@h/db?tabel=x"}},
    {"connections must be a number", {"postgresql://u:geheim@h/db?connections=many"}},
    {"connections is 65, but must be 1 to 64", {"postgresql://u:geheim@h/db?connections=65"}},
    {"timeout must end with \"ms\" or \"s\"", {"postgresql://u:geheim@h/db?timeout=500"}},
    {"timeout is 0 ms, but must be 1 to 60000 ms", {"postgresql://u:geheim@h/db?timeout=0ms"}},
    {"table is \"Locks\"", {"postgresql://u:geheim@h/db?table=Locks"}},
    {"table is \"a.b.c\"", {"postgresql://u:geheim@h/db?table=a.b.c"}},
    {"notify must be on or off", {"postgresql://u:geheim@h/db?notify=yes"}},
    {"percent-encoded",
     {"postgresql://u:geheim%zz@h/db", "postgresql://u:its/geheim@h/db", "postgresql://u:its@geheim@h/db"}},
};

inline std::string ask(postgres_server const& s, std::string const& sql) { return s.ask(sql); }

}  // namespace redlock::test
