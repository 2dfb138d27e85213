#pragma once

#include "testbed/local_server.hpp"
#include "testbed/process.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::testbed {

/// The folder of PostgreSQL's programs: $REDLOCK_POSTGRESQL, or the newest below /usr/lib/postgresql. Empty: there are none.
std::string postgres_programs();

/// The command line that starts @p words as the user nobody, if we are root, as whom some servers refuse to run.
std::vector<std::string> as_nobody(std::vector<std::string> words);

/** A real PostgreSQL server on loopback, on a port that was free, with the user "redlock", who needs no password, and the database
    "postgres". It dies with this object, and with the thread that started it. The port stays the same when it is started again.
*/
class postgres_server {
public:
    /// @p settings: such as "fsync=off"
    /// @throws std::runtime_error if it does not start within a minute, with its log
    explicit postgres_server(std::vector<std::string> settings = {});
    ~postgres_server();

    /// A hot standby of @p primary, which follows it asynchronously.
    explicit postgres_server(postgres_server const& primary);

    std::uint16_t port() const noexcept { return port_; }
    pid_t pid() const noexcept { return process_ ? process_->pid() : -1; }
    std::string url(std::string const& parameters = {}) const;
    std::string folder() const { return folder_.path + "/data"; }

    void kill();   ///< SIGKILL
    void start();  ///< again, after kill
    void pause();  ///< SIGSTOP, its processes, too
    void resume();

    /// The first column of the last row of what psql prints; "error: …"
    std::string ask(std::string const& sql) const;

private:
    void start_on_free_port();
    void launch();
    std::string log() const;
    std::vector<pid_t> processes() const;

    std::vector<std::string> settings_;
    temporary_folder folder_;
    std::uint16_t port_ = 0;
    std::optional<process> process_;
};

}  // namespace redlock::testbed
