#pragma once

#include "testbed/local_server.hpp"
#include "testbed/process.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::testbed {

/// The server program: $REDLOCK_MARIADB, which may be MySQL's, or mariadbd where Debian's package mariadb-server-core has put it. Empty: there is none.
std::string mariadb_program();

/** A real MariaDB server on loopback, on a port that was free, with the user "redlock", who needs no password and may do everything, and the
    database "redlock". It dies with this object, and with the thread that started it. The port stays the same when it is started again.
*/
class mariadb_server {
public:
    /// @p options: such as "--innodb-flush-log-at-trx-commit=0"
    /// @throws std::runtime_error if it does not start within a minute, with its log
    explicit mariadb_server(std::vector<std::string> options = {});
    ~mariadb_server();

    std::uint16_t port() const noexcept { return port_; }
    pid_t pid() const noexcept { return process_ ? process_->pid() : -1; }
    std::string url(std::string const& parameters = {}) const;
    std::string socket() const { return folder_.path + "/socket"; }

    void kill();   ///< SIGKILL
    void start();  ///< again, after kill: in another second than the last time, by which clients tell its lives apart
    void start_at(std::uint16_t port);  ///< the same, on another port, which must be free
    void pause();  ///< SIGSTOP
    void resume();

private:
    void launch();
    std::string log() const;

    std::vector<std::string> options_;
    temporary_folder folder_;
    std::uint16_t port_ = 0;
    std::int64_t started_ = 0;  ///< in seconds, by the system's clock
    std::optional<process> process_;
};

}  // namespace redlock::testbed
