#pragma once

#include "bed/server_process.hpp"

#include <memory>
#include <string>
#include <vector>

namespace redlock::testbed {

/// The folder of PostgreSQL's programs: $REDLOCK_POSTGRESQL, or the newest below /usr/lib/postgresql; empty if there is
/// none.
std::string postgres_programs();

/// If we are root, a command line that starts @p words as the user nobody: some servers refuse to run as root.
std::vector<std::string> as_nobody(std::vector<std::string> words);

/// A real PostgreSQL server with the database "postgres", and the user "redlock" without a password.
class postgres_server final : public server_process {
public:
    /// @p settings: such as "fsync=off"
    /// @throws std::runtime_error with its log if it does not start within a minute
    explicit postgres_server(std::vector<std::string> settings = {});

    /// A hot standby of @p primary, with asynchronous replication.
    explicit postgres_server(postgres_server const& primary);

    std::string url(std::string const& parameters = {}) const;

    /// Returns the last line that psql prints for @p sql; "error: …" if it fails.
    std::string ask(std::string const& sql) const;

private:
    std::vector<std::string> words() override;
    bool may_start_later(std::string const& log) const override;

    struct fresh_data;
    static std::shared_ptr<fresh_data const> fresh();

    std::vector<std::string> settings_;
    std::shared_ptr<fresh_data const> data_;
};

}  // namespace redlock::testbed
