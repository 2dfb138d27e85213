#pragma once

#include "testbed/server_process.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::testbed {

/// The server program: $REDLOCK_MARIADB, which may be MySQL's, or mariadbd where Debian's package mariadb-server-core
/// has put it. Empty: there is none.
std::string mariadb_program();

/** A real MariaDB server, with the user "redlock", who needs no password and may do everything, and the database
    "redlock".

    It starts in another second than the last time, by which clients tell its lives apart.
*/
class mariadb_server final : public server_process {
public:
    /// @p options: such as "--innodb-flush-log-at-trx-commit=0"
    /// @throws std::runtime_error if it does not start within a minute, with its log
    explicit mariadb_server(std::vector<std::string> options = {});

    std::string url(std::string const& parameters = {}) const;
    std::string socket() const { return path() + "/socket"; }

    void start_at(std::uint16_t port);  ///< after kill, on another port, which must be free

private:
    std::vector<std::string> words() override;

    std::vector<std::string> options_;
    std::int64_t started_ = 0;  ///< in seconds, by the system's clock
};

}  // namespace redlock::testbed
