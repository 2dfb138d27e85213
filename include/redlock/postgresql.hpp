#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/sql.hpp>
#include <redlock/store.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace redlock {

class lock_handle;

/// What the addresses of a @ref postgresql store leave unsaid.
struct postgresql_options {
    /// The table of the locks, with the schema it is in or without; the names of the other tables and of the functions begin with it.
    /// Lower-case letters, digits and `_`.
    std::string table = "redlock";

    /// How many connections each node keeps, 1 to 64. Each carries out one command after the other; who acquires a lock and gives it
    /// back does so on one of them. Several share a wait for the disk.
    std::size_t connections = 4;

    /// For how long an answer is waited for in bad times, 1 ms to a minute: a commit waits for a disk, or for a standby. A round waits for the
    /// longest of this and `config::node_timeout`. Beyond it, a lock of the database that stands in the way is an error.
    std::chrono::milliseconds timeout{500};

    /// What operators see in `pg_stat_activity`.
    std::string application_name = "redlock";

    /// Whether tables and functions are made where they are missing; otherwise that is an error. See docs/stores.md for the rights.
    bool create_table = true;

    /// Whether waiters are told by LISTEN and NOTIFY. Without, they ask now and then: for poolers that share a connection between clients.
    bool notify = true;

    /// Whether statements are prepared once for each connection, and isolation level and time limits set for it. Without, each is parsed
    /// each time, and settings are those of the role: for poolers that share a connection between clients.
    bool prepare = true;

    /// Says that the pooler before the server keeps one server connection for each client (PgBouncer's
    /// `pool_mode=session`). Behind a pooler a node does not vote unless this is on, or `notify` and `prepare` are off.
    bool session_pooler = false;
};

/** Locks in a PostgreSQL database, 13 or newer: `config::stores = {redlock::postgresql()}`, and in `config::nodes`

    `postgresql://[user[:password]@]host[:port][,host…]/database[?parameter=value&…]`, or `postgres://`. Parameters are those of libpq
    (`sslmode`, `sslrootcert`, …), and `table`, `connections`, `timeout` (such as `500ms` or `2s`), `notify`, `prepare` and
    `session_pooler` (`on`, `off`), which mean what the members of @ref postgresql_options do. Environment, service and password files are read as
    libpq does.

    Several hosts are one node: of those, the primary with the highest timeline. The database's clock decides what has expired. docs/stores.md says what such
    a node promises.

    @throws std::invalid_argument if an option is outside its range
*/
REDLOCK_API store postgresql(postgresql_options options = {});

/** A statement for a transaction of yours in the database where the lock is: it fails, and with it the transaction, if the database does not
    know @p held as held any more (SQLSTATE RL001). Otherwise nobody else can acquire it until the
    transaction ends, even if it expires meanwhile. Where lock and data are in one database that is more than a fencing token, and needs
    no column; see docs/fencing.md.

    Put it before the work, and keep the transaction short: an extension of the lock waits for its end. Of several locks, ask in one order.

    @p where: of which `table` counts. @p prefix: that of the manager's `config::prefix`. Without a lock the statement fails always.
*/
REDLOCK_API sql_statement owns(postgresql_options const& where, lock_handle const& held, std::string_view prefix = "lock:");

}  // namespace redlock
