#pragma once

#include "testbed/server_process.hpp"

#include <string>
#include <vector>

namespace redlock::testbed {

/// The folder of PostgreSQL's programs: $REDLOCK_POSTGRESQL, or the newest below /usr/lib/postgresql. Empty: there are
/// none.
std::string postgres_programs();

/// The command line that starts @p words as the user nobody, if we are root, as whom some servers refuse to run.
std::vector<std::string> as_nobody(std::vector<std::string> words);

/// A real PostgreSQL server, with the user "redlock", who needs no password, and the database "postgres".
class postgres_server final : public server_process {
public:
    /// @p settings: such as "fsync=off"
    /// @throws std::runtime_error if it does not start within a minute, with its log
    explicit postgres_server(std::vector<std::string> settings = {});

    /// A hot standby of @p primary, which follows it asynchronously.
    explicit postgres_server(postgres_server const& primary);

    std::string url(std::string const& parameters = {}) const;

    /// The first column of the last row of what psql prints; "error: …"
    std::string ask(std::string const& sql) const;

private:
    std::vector<std::string> words() override;
    bool may_start_later(std::string const& log) const override;

    std::vector<std::string> settings_;
};

}  // namespace redlock::testbed
