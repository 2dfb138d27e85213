#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/log.hpp>
#include <redlock/observer.hpp>
#include <redlock/restart_guard.hpp>
#include <redlock/store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::inline v1 {

namespace testing {
class manual_clock;
}

/// TLS for the nodes whose URL asks for it: `rediss://`, `rediss-sentinel://`, `rediss-cluster://`, the same with
/// `valkeys`, and `etcds://`. The manager's constructor reads the files.
struct tls_options {
    std::string ca_file{};           ///< The certificate authorities, PEM. Empty: those of the system.
    std::string certificate_file{};  ///< The client's certificate chain, PEM. Empty: it shows no certificate.
    std::string private_key_file{};  ///< The key of the client's certificate, PEM. Set both files, or neither.
    /// Whether to verify the server's certificate and host name. Switch it off for experiments only.
    bool verify = true;
};

/// The user and the password for a connection to a server. Both may be empty.
struct credentials {
    std::string user{};      ///< Empty: the user that the server chooses; in Redis, `default`.
    std::string password{};  ///< Empty: none. A user of Redis may have none (`nopass`).
};

/// A connection that is about to be made: see `manager_options::credentials`.
struct credentials_request {
    /// The server's name, as in reports. For a member of a Redis Cluster: the name of the member. For a Sentinel: the
    /// address of the Sentinel.
    std::string_view node;
    bool is_sentinel = false;           ///< Whether the server is a Sentinel.
    redlock::credentials in_address{};  ///< User and password in the address of `manager_options::nodes`.
};

/// See `manager_options::credentials`.
using credentials_function = std::function<credentials(credentials_request const&)>;

/** The settings of a @ref lock_manager . An aggregate with defaults, such as `{.nodes = {"redis://10.0.0.1", …}}`.

    The manager's constructor checks them. If one is wrong, it throws `std::invalid_argument`, which names the field,
    the value and the limit.
*/
struct manager_options {
    /** The lock servers, 1 to 99. They must be independent: no replicas of each other, no two names of one server.

        - `redis://[user:password@]host[:port][/db]` (or `valkey://`): a server
        - `rediss://…` (or `valkeys://`): a server, with TLS
        - `unix://[user:password@]/path[?db=n]`: a server, by its Unix socket
        - `host[:port]`: as `redis://host[:port]`
        - `redis-sentinel://[user:password@]sentinel[:port][,…]/name[?db=n&sentinel_password=…]`: the primary that
          Sentinel names; one node, before and after a failover (`rediss-sentinel://` with TLS)
        - `redis-cluster://[user:password@]host[:port][,…]`: a whole cluster, as one node (`rediss-cluster://` with TLS)
        - `memory://name`: a server in this process, for tests
        - other addresses: see @ref stores

        The port is 6379 if not given. Percent-encode reserved characters in user and password.

        One node is the plain single-instance lock. Use an odd number: 3 nodes tolerate one failure, 5 nodes two.
    */
    std::vector<std::string> nodes{};

    /// Stores for other addresses in @ref nodes, such as PostgreSQL or etcd. One manager can mix kinds of nodes.
    std::vector<store> stores{};

    /// The beginning of each key on the servers: a lock's key is prefix + resource, so other Redlock clients can share
    /// it. At most 256 bytes, without the marks that resources must not contain. The same for all clients.
    std::string prefix = "lock:";

    /// The label of this client in the values of its locks, for operators; at most 256 bytes. Empty: "host:pid".
    std::string owner{};

    /// The time for which a round waits for the vote of a node: 1 ms to a minute, and below @ref max_ttl. Choose it
    /// well above the round-trip time, and well below the ttl. For a node whose store has a longer timeout, the round
    /// waits for that (`node_limits::timeout`). A vote that has not come in time is unknown.
    std::chrono::milliseconds node_timeout{50};

    /// The time limit for name resolution, for connecting and for the TLS handshake, each: 1 ms to a minute. After
    /// three times this (four times with TLS) the server must have sent its first answer.
    ///
    /// If a name has several addresses, the manager tries the next one when one fails, or after 250 ms (RFC 8305). It
    /// tries each for this long, and then connects to the one that has answered. So a name with n addresses needs up to
    /// one more `connect_timeout`, plus (n - 1) * 250 ms.
    std::chrono::milliseconds connect_timeout{1000};

    /// The allowed clock drift between clients and servers, 0 to 0.5. The validity of a lock is shortened by
    /// ttl * drift_factor + 2 ms (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/). The default is
    /// enough for clocks under NTP. A chrony daemon that slews by up to 8.3 % needs 0.09.
    double drift_factor = 0.01;

    /// The longest ttl of a lock, and the age at which a restarted node votes again (@ref restart_guard): 20 ms to one
    /// day. It must be the same for all clients.
    std::chrono::milliseconds max_ttl{60'000};

    /// How many times in a row this manager hands a lock to its own waiters while other processes wait for it. The
    /// range is 0 to a million. Only waiters count that waited here when the manager learned of the others. Then the
    /// others come first. Zero: the others come first after each lock.
    std::size_t max_handovers = 16;

    /** Whether locks have fencing tokens (`lock::fencing_token`): numbers that increase with every acquisition of the
        resource by any client that follows docs/protocol.md. Each node keeps a counter for each resource
        forever, in a key of its own. Needs Redis 6.2 or newer, or Valkey. Clients without fencing share the locks, but
        draw no tokens. */
    bool fencing = false;

    /// The treatment of nodes that have restarted, with fencing and without.
    redlock::restart_guard restart_guard = redlock::restart_guard::automatic;

    /// Whether to use nodes whose `maxmemory-policy` could evict a lock. If false, the manager refuses them.
    bool allow_eviction = false;

    /// Whether the manager keeps a record of each server's memory on that server, and reads it once a second. By the
    /// record the manager notices restarts, promotions and lost keys. It must be true unless @ref restart_guard is
    /// `restart_guard::off`.
    bool record = true;

    /// Whether automatic renewal sets a lock's key again on nodes that have forgotten it. Such a node counts from the
    /// next renewal on.
    bool heal = true;

    /// TLS for the nodes whose URL asks for it.
    tls_options tls{};

    /** Returns user and password for each new connection to a node or a Sentinel, for passwords that change: rotation,
        or tokens such as those of IAM. Empty: those of the address.

        Return `request.in_address` to use what the address says. Connections that exist stay as they are. A holder
        keeps its locks if the next connection succeeds before their validity ends.

        The manager calls the function on its strand, or the threads of the node's executor. It must not block: fetch a
        token in the background, and return the latest one here. If the function throws, the attempt to connect fails
        with `errc::node_unreachable` and the text of the exception, and the manager tries again after the usual pause.
        Not called for `memory://`, nor for ZooKeeper: a lock's node there belongs to the user with this password. */
    credentials_function credentials{};

    /// The log function, called with each line. Empty: no log. To begin with: @ref log_to_stderr.
    ///
    /// The manager calls it on its own strand, in a pass of the event loop of its own: it may call or destroy the
    /// manager. It must not block: until it returns, renewals wait. Its exceptions are dropped. Lines contain no
    /// passwords and no lock tokens.
    ///
    /// Calls end when the shutdown has completed, also if the manager's destructor has started it in the background. In
    /// one second, it is called at most 100 times with debug lines, and 100 times with others. It then gets the number
    /// of lines that were left out.
    log_function log{};

    /// The observer, which receives events for metrics, traces and logs: see @ref redlock::observer. Null: no events,
    /// and no cost.
    std::shared_ptr<redlock::observer> observer{};

    /// The manual clock of the manager and of its nodes, for tests; all nodes must be `memory://` or objects. Null: the
    /// system's clock. See @ref testing::manual_clock.
    std::shared_ptr<testing::manual_clock> test_clock{};

    /// Whether the manager only reads. It then inspects, lists and watches locks, and refuses all other calls with
    /// `errc::unsupported`. It needs no right to write. It also reads replicas, and servers that could evict locks.
    bool read_only = false;
};

/// The same type, by the name of version 0.1.
using config = manager_options;

}  // namespace redlock
