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

/// What the addresses of a @ref mysql store leave unsaid.
struct mysql_options {
    /// The table of the locks, in the database of the address; the names of the other tables and of the procedures begin with it. 1 to 40
    /// lower-case letters, digits and `_`, and no digit first.
    std::string table = "redlock";

    /// How many connections each node keeps, 1 to 64. Each carries out one command after the other, so this is how many commands a
    /// node carries out at the same time; several share a wait for the disk.
    std::size_t connections = 4;

    /// For how long an answer is waited for in bad times, 1 ms to a minute: a commit waits for a disk, or for a replica. A round waits for the
    /// longest of this and `config::node_timeout`. A lock of the database that stands in the way is waited for as long, in whole seconds.
    std::chrono::milliseconds timeout{500};

    /// Whether tables and procedures are made where they are missing; otherwise that is an error. See docs/stores.md for the rights.
    bool create_table = true;
};

/** Locks in a MySQL database, 8.0.29 or newer, or in one of MariaDB, 10.6 or newer: `config::stores = {redlock::mysql()}`, and in
    `config::nodes`

    `mysql://user[:password]@host[:port]/database[?parameter=value&…]`, or `mariadb://`. What is special in user, password and values is
    percent-encoded. Parameters are `table`, `connections`, `timeout` (such as `500ms` or `2s`) and `create_table` (`on`, `off`), which mean what
    the members of @ref mysql_options do, and

    | parameter | |
    |---|---|
    | `tls` | `off`, which is the default; `on`: the certificate must be the host's, by the authorities of the system or of `ssl_ca`; `unverified`: whoever answers is believed. Each of the next ones turns it on |
    | `ssl_ca`, `ssl_cert`, `ssl_key` | files, in PEM: authorities, and our own certificate and key |
    | `socket` | the file of a Unix socket, in the place of host and port: `mysql://user@/database?socket=/run/mysqld/mysqld.sock` |

    No option files and no environment variables are read. The database's clock decides what has expired. The server tells nobody of changes: waiters
    of other managers ask now and then. docs/stores.md says what such a node promises.

    @throws std::invalid_argument if an option is outside its range
*/
REDLOCK_API store mysql(mysql_options options = {});

/** A statement for a transaction of yours in the database where the lock is: an error (SQLSTATE RL001), if the database does not know @p held as
    held any more. Otherwise nobody else can acquire it until the transaction ends, even if it expires meanwhile. Where lock and data are in one
    database that is more than a fencing token, and needs no column; see docs/stores.md.

    Put it before the work, behind START TRANSACTION, and roll back if it fails: an error alone ends no transaction there. Keep the transaction
    short: an extension of the lock waits for its end. Of several locks, ask in one order.

    Its places for parameters are question marks. @p where: of which `table` counts. @p prefix: that of the manager's `config::prefix`. Without a lock
    the statement fails always.
*/
REDLOCK_API sql_statement owns(mysql_options const& where, lock_handle const& held, std::string_view prefix = "lock:");

}  // namespace redlock
