#pragma once

#include "support/postgres.hpp"
#include "testbed/local_server.hpp"
#include "testbed/process.hpp"
#include "testbed/wait_until.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

namespace redlock::test {

/// Debian's package pgbouncer puts it where users do not look. Empty: it is not here.
inline std::string pgbouncer_program()
{
    auto const* const there = "/usr/sbin/pgbouncer";
    return std::filesystem::exists(there) ? there : "";
}

/// Tests that need PgBouncer are left out, and that is said, where it is not.
inline auto only_with_pgbouncer()
{
    return boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
        boost::test_tools::assertion_result can(!testbed::postgres_programs().empty() && !pgbouncer_program().empty());
        can.message() << "skipped: there is no PostgreSQL server or no PgBouncer here (Debian's packages postgresql, pgbouncer)";
        return can;
    });
}

/// PgBouncer before a server, on loopback. It dies with this object.
class pgbouncer {
public:
    /// @p settings: lines of its file, such as "pool_mode=session"
    pgbouncer(postgres_server const& server, std::string const& settings)
    {
        std::filesystem::permissions(folder_.path, std::filesystem::perms::all);
        std::ofstream(folder_.path + "/ini") << fmt::format(
            "[databases]\npostgres = host=127.0.0.1 port={} dbname=postgres user=redlock\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={}\n"
            "unix_socket_dir=\nauth_type=any\nignore_startup_parameters=options,extra_float_digits\n{}\n",
            server.port(), port_, settings);
        process_.emplace(testbed::as_nobody({pgbouncer_program(), folder_.path + "/ini"}), testbed::process_options{.output = folder_.path + "/log"});
        testbed::wait_until([this] { return log().find("process up") != std::string::npos || process_->ended(); }, "PgBouncer does not start");
        BOOST_REQUIRE_MESSAGE(!process_->ended(), log());
    }

    std::string url(std::string const& parameters = {}) const
    {
        return fmt::format("postgresql://redlock@127.0.0.1:{}/postgres{}", port_, parameters);
    }

    /// The first column of the only row: what a client of its own is told.
    std::string ask(std::string const& sql) const
    {
        std::unique_ptr<PGconn, void (*)(PGconn*)> const c(PQconnectdb(url().c_str()), PQfinish);
        std::unique_ptr<PGresult, void (*)(PGresult*)> const r(PQexec(c.get(), sql.c_str()), PQclear);
        return PQresultStatus(r.get()) == PGRES_TUPLES_OK ? PQgetvalue(r.get(), 0, 0) : "error: " + std::string(PQerrorMessage(c.get()));
    }

private:
    std::string log() const
    {
        std::ostringstream text;
        text << std::ifstream(folder_.path + "/log").rdbuf();
        return text.str();
    }

    testbed::temporary_folder folder_;
    std::uint16_t const port_ = testbed::free_port();
    std::optional<testbed::process> process_;
};

}  // namespace redlock::test
