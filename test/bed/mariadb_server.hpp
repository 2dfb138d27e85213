#pragma once

#include "bed/server_process.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::testbed {

/// The server program: $REDLOCK_MARIADB, which may be MySQL's, or mariadbd of Debian's package mariadb-server-core.
/// Empty if there is none.
std::string mariadb_program();

/** A real MariaDB server with the database "redlock", and the user "redlock", without a password and with all rights.

    Clients recognise a restart by the start time in seconds, so each start is in a new second.
*/
class mariadb_server final : public server_process {
public:
    /// @p options: such as "--innodb-flush-log-at-trx-commit=0"
    /// @throws std::runtime_error with its log if it does not start within a minute
    explicit mariadb_server(std::vector<std::string> options = {});

    std::string url(std::string const& parameters = {}) const;
    std::string socket() const { return path() + "/socket"; }

    void start_at(std::uint16_t port);  ///< after kill, on another port, which must be free

private:
    std::vector<std::string> words() override;

    std::vector<std::string> options_;
    std::int64_t started_ = 0;  ///< last start, in seconds of the system clock
};

}  // namespace redlock::testbed
