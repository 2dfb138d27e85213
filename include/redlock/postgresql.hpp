#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/sql.hpp>
#include <redlock/store.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::inline v1 {

class lock_handle;

/// Defaults of a @ref postgresql store, for what its addresses do not say.
struct postgresql_options {
    /// The table of the locks, with or without its schema, such as `app.locks`. The names of the other tables and of
    /// the functions begin with it. At most 40 lower-case letters, digits and `_`, with no digit first.
    std::string table = "redlock";

    /// The schema of the tables, if @ref table names none: lower-case letters, digits and `_`, with no digit first, and
    /// no reserved word. Empty: `public`. It must be the same for all clients. The `search_path` of a role has no
    /// influence. Schema and table together have at most 60 characters.
    std::string schema{};

    /// How many connections each node keeps, 1 to 64. Each carries out one command at a time. A client that acquires
    /// and releases a lock uses the same connection for both. With several connections, commits share a wait for the
    /// disk.
    std::size_t connections = 4;

    /// The longest time to wait for an answer, 1 ms to a minute: a commit waits for a disk, or for a standby. A round
    /// waits for this node for this time, or for `manager_options::node_timeout` if that is longer. If a lock of the
    /// database blocks a command for longer, that is an error.
    std::chrono::milliseconds timeout{500};

    /// The name that operators see in `pg_stat_activity`.
    std::string application_name = "redlock";

    /// Whether to create missing tables and functions. If false, missing ones are an error. docs/stores.md lists the
    /// rights.
    bool create_table = true;

    /// Whether LISTEN and NOTIFY notify waiters. If false, waiters poll: for poolers that share a connection between
    /// clients.
    bool notify = true;

    /// Whether to prepare statements, and to set isolation level and time limits, once for each connection. If false,
    /// each statement is parsed each time, and the role's settings apply: for poolers that share a connection between
    /// clients.
    bool prepare = true;

    /// Whether the pooler in front of the server keeps one server connection for each client (PgBouncer's
    /// `pool_mode=session`). Behind a pooler a node votes only if this is true, or `notify` and `prepare` are false.
    bool session_pooler = false;
};

/** Makes a store for locks in a PostgreSQL database, 13 or newer: `manager_options::stores = {redlock::postgresql()}`.
   Addresses in `manager_options::nodes`:

    `postgresql://[user[:password]@]host[:port][,host…]/database[?parameter=value&…]`, or `postgres://`

    These parameters set the members of @ref postgresql_options : `table`, `schema`, `connections`, `timeout` (such as
   `500ms` or `2s`), `application_name`, and `notify`, `prepare`, `session_pooler` (`on`, `off`). Other parameters are
   those of libpq (`sslmode`, `sslrootcert`, …). Environment, service and password files are read as libpq reads them.

    Several hosts are one node: the primary with the highest timeline among them. The database's clock decides which
    locks have expired. docs/stores.md says what such a node promises.

    @throws std::invalid_argument if an option is out of range; the message names the field, the value and the limit

    @par Thread safety
    May be called from any thread; does not wait. A store is a value, which several managers can use.

    @param options What the addresses do not say: see @ref postgresql_options .
*/
REDLOCK_API store postgresql(postgresql_options options = {});

/** Makes a statement for your own transaction, in the database that has the lock. It makes the transaction fail
    (SQLSTATE RL001), if the database does not know @p held as held any more. Otherwise nobody else can acquire the lock
    until the transaction ends, even if it expires meanwhile.

    If lock and data are in one database, this is stronger than a fencing token, and needs no column: see
    docs/fencing.md. Put it before the work, and keep the transaction short: an extension of the lock waits for its end.
    For several locks, use the same order everywhere.

    @return the statement with its parameters; nothing is sent

    @par Thread safety
    May be called from any thread; does not wait.

    @param where Only `table` and `schema` are used. If they name no schema, the `search_path` of your connection must
                 find the tables.
    @param held The lock. If it is empty, the statement always fails.
    @param prefix The manager's `manager_options::prefix`.
*/
REDLOCK_API sql_statement owns(postgresql_options const& where, lock_handle const& held,
                               std::string_view prefix = "lock:");

}  // namespace redlock
