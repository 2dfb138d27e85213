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

/// Defaults of a @ref mysql store, for what its addresses do not say.
struct mysql_options {
    /// The table of the locks, in the database of the address. The names of the other tables and of the procedures
    /// begin with it. 1 to 40 lower-case letters, digits and `_`, with no digit first.
    std::string table = "redlock";

    /// How many connections each node keeps, 1 to 64. Each carries out one command at a time, so a node carries out
    /// this many commands at the same time. With several connections, commits share a wait for the disk.
    std::size_t connections = 4;

    /// The longest time to wait for an answer, 1 ms to a minute: a commit waits for a disk, or for a replica. A round
    /// waits for this node for this time, or for `manager_options::node_timeout` if that is longer. If a lock of the
    /// database blocks a command, the command waits as long, in whole seconds.
    std::chrono::milliseconds timeout{500};

    /// Whether to create missing tables and procedures. If false, missing ones are an error. docs/stores.md lists the
    /// rights.
    bool create_table = true;
};

/** Makes a store for locks in a database of MySQL, 8.0.29 or newer, or MariaDB, 10.6 or newer:
    `manager_options::stores = {redlock::mysql()}`. Addresses in `manager_options::nodes`:

    `mysql://user[:password]@host[:port]/database[?parameter=value&…]`, or `mariadb://`

    Percent-encode special characters in user, password and values. Parameters:
    - `table`, `connections`, `timeout` (such as `500ms` or `2s`), `create_table` (`on`, `off`): see @ref mysql_options.
    - `tls`: `off` is the default. `on`: the certificate must be the host's, by the authorities of the system or of
      `ssl_ca`. `unverified`: any certificate is accepted. Each of the next three turns `tls` on.
    - `ssl_ca`, `ssl_cert`, `ssl_key`: PEM files with the authorities, the client's certificate, and its key.
    - `socket`: the file of a Unix socket, instead of host and port:
      `mysql://user@/database?socket=/run/mysqld/mysqld.sock`.

    No option files and no environment variables are read. The database's clock decides which locks have expired. The
    server does not notify of changes: waiters of other managers poll. docs/stores.md says what such a node promises.

    @throws std::invalid_argument if an option is out of range; the message names the field, the value and the limit

    @par Thread safety
    May be called from any thread; does not wait. A store is a value, which several managers can use.

    @param options What the addresses do not say: see @ref mysql_options .
*/
REDLOCK_API store mysql(mysql_options options = {});

/** Makes a statement for your own transaction, in the database that has the lock. It is an error (SQLSTATE RL001), if
    the database does not know @p held as held any more. Otherwise nobody else can acquire the lock until the
    transaction ends, even if it expires meanwhile. Its placeholders for parameters are question marks.

    If lock and data are in one database, this is stronger than a fencing token, and needs no column: see
    docs/stores.md. Put it before the work, after START TRANSACTION. If it fails, roll back: an error alone does not end
    a transaction in MySQL. Keep the transaction short: an extension of the lock waits for its end. For several locks,
    use the same order everywhere.

    @return the statement with its parameters; nothing is sent

    @par Thread safety
    May be called from any thread; does not wait.

    @param where Only `table` is used.
    @param held The lock. If it is empty, the statement always fails.
    @param prefix The manager's `manager_options::prefix`.
*/
REDLOCK_API sql_statement owns(mysql_options const& where, lock_handle const& held, std::string_view prefix = "lock:");

}  // namespace redlock
