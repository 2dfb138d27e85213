#pragma once

#include "stores/store.hpp"
#include "bed/server_process.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// The path of pgbouncer, which Debian installs outside of the users' PATH. Empty: not installed.
inline std::string pgbouncer_program()
{
    auto const* const there = "/usr/sbin/pgbouncer";
    return std::filesystem::exists(there) ? there : "";
}

inline auto only_with_pgbouncer()
{
    return only_if(this_store::is_here() && !pgbouncer_program().empty(),
                   "there is no PostgreSQL server or no PgBouncer here (Debian's packages postgresql, pgbouncer)");
}

/// PgBouncer in front of a server.
class pgbouncer final : public testbed::server_process {
public:
    /// @p settings: lines of its configuration, such as "pool_mode=session"
    pgbouncer(postgres_server const& server, std::string settings)
        : server_process("PgBouncer", {"process up"}), database_(server.port()), settings_(std::move(settings))
    {
        std::filesystem::permissions(path(), std::filesystem::perms::all);
        start_on_free_ports();
    }

    std::string url(std::string const& parameters = {}) const
    {
        return fmt::format("postgresql://redlock@127.0.0.1:{}/postgres{}", port(), parameters);
    }

    /// @return the first column of the only row, for a new client of the pooler
    std::string ask(std::string const& sql) const
    {
        std::unique_ptr<PGconn, void (*)(PGconn*)> const c(PQconnectdb(url().c_str()), PQfinish);
        std::unique_ptr<PGresult, void (*)(PGresult*)> const r(PQexec(c.get(), sql.c_str()), PQclear);
        return PQresultStatus(r.get()) == PGRES_TUPLES_OK ? PQgetvalue(r.get(), 0, 0)
                                                          : "error: " + std::string(PQerrorMessage(c.get()));
    }

private:
    std::vector<std::string> words() override
    {
        std::ofstream(path() + "/ini") << fmt::format(
            "[databases]\npostgres = host=127.0.0.1 port={} dbname=postgres "
            "user=redlock\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={}\n"
            "unix_socket_dir=\nauth_type=any\nignore_startup_parameters=options,extra_float_digits\n{}\n",
            database_, port(), settings_);
        return testbed::as_nobody({pgbouncer_program(), path() + "/ini"});
    }

    std::uint16_t const database_;
    std::string const settings_;
};

}  // namespace redlock::test
