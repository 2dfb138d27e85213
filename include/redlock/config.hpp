#pragma once

#include <redlock/detail/api.hpp>
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

namespace redlock {

namespace testing {
class manual_clock;
}

/// How much a log line matters.
enum class log_level : std::uint8_t { debug, info, warning, error };

/// "debug", "info", "warning" or "error".
REDLOCK_API char const* to_string(log_level) noexcept;

/// For the first hour: `config::log = redlock::log_to_stderr` prints all lines but those of the level debug to the standard error
/// stream. Any thread.
REDLOCK_API void log_to_stderr(log_level, std::string_view line) noexcept;

/// TLS for the nodes whose URL begins with `rediss://` or `valkeys://`.
struct tls_options {
    std::string ca_file{};         ///< Certificate authorities, PEM. Empty: those of the system.
    std::string certificate_file{};  ///< Client certificate chain, PEM. Empty: none is shown.
    std::string private_key_file{};  ///< Its key, PEM. Empty only without a client certificate.
    /// Whether the server's certificate and host name are verified. Switch it off for experiments only.
    bool verify = true;
};

/** What a @ref lock_manager works with. An aggregate with defaults: `{.nodes = {"redis://10.0.0.1", …}}`.

    It is checked in the manager's constructor, which throws `std::invalid_argument` naming the field,
    the value and the limit.
*/
struct config {
    /** The lock servers, 1 to 99, independent of each other: no replicas, no two names of one server.

        `redis://[user:password@]host[:port][/db]` (`valkey://` means the same), `rediss://…` and
        `valkeys://…` with TLS, `unix://[user:password@]/path[?db=n]`, `memory://name` (in this process, for tests),
        or plain `host[:port]`; `redis-sentinel://[user:password@]sentinel[:port][,…]/name[?db=n&sentinel_password=…]`, the master
        that Sentinels name (`rediss-sentinel://` with TLS), which is one node; `redis-cluster://[user:password@]host[:port][,…]`, a
        whole cluster (`rediss-cluster://` with TLS), which is one node, too; or what @ref stores know. Reserved characters in user and password are percent-encoded.
        The port is 6379 if not given. One node is the plain single-instance lock; an odd number
        tolerates most: 3 nodes one failure, 5 nodes two.
    */
    std::vector<std::string> nodes{};

    /// What other addresses in @ref nodes mean. Kinds can be mixed.
    std::vector<store> stores{};

    /// A lock's key on the servers is prefix + resource, so that other Redlock clients can share it.
    std::string prefix = "lock:";

    /// Label that operators see in a lock's value, at most 256 bytes. Empty: "host:pid".
    std::string owner{};

    /// How long one node's vote is waited for, 1 ms to a minute. Well above the round-trip time,
    /// well below the ttl.
    std::chrono::milliseconds node_timeout{50};

    /// For name resolution, for connecting and for the TLS handshake; each. 1 ms to a minute. After three times this (four
    /// with TLS) the server must have answered for the first time. Of a name with several addresses, the next is tried when one
    /// fails, or after 250 ms (RFC 8305), each for this long; then the one that answered is connected to. So a name with n
    /// addresses has once more this, and n - 1 times 250 ms.
    std::chrono::milliseconds connect_timeout{1000};

    /// Clock drift between client and servers, 0 to 0.5: a lock's validity is shortened by
    /// ttl * drift_factor + 2 ms (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/).
    /// The default covers clocks under NTP. A chrony daemon that slews by up to 8.3 % needs 0.09.
    double drift_factor = 0.01;

    /// No lock is asked for longer than this: 20 ms to one day.
    std::chrono::milliseconds max_ttl{60'000};

    /// While other processes wait for the same lock: how many of this process may have it one after the other, 0 to a million.
    /// Then the others come first. Who waited here before it was known that others do comes first, up to this number.
    /// Zero: after each lock the others come first.
    ///
    /// Likewise, while an acquisition of several resources waits for some of them: how many of this manager that want one of the others may
    /// come before it.
    std::size_t max_handovers = 16;

    /** Fencing tokens: `lock::fencing_token` is then a number that grows with every acquisition of a resource, over all
        clients that follow docs/protocol.md. Each node keeps a counter for each resource for ever, in a key of its own.
        Needs Redis 6.2 or newer, or Valkey. Clients without fencing share the locks, but draw no tokens. */
    bool fencing = false;

    /** With fencing: how many nodes must grant, a majority to all of them. 0: a majority. With more, tokens grow even if
        up to `2 * fence_quorum - nodes - 1` nodes have forgotten their counters, whatever the clocks say. */
    std::size_t fence_quorum = 0;

    /// What is done about restarted nodes, with fencing and without.
    redlock::restart_guard restart_guard = redlock::restart_guard::automatic;

    /// Whether nodes may be used whose `maxmemory-policy` could evict a lock. They are refused otherwise.
    bool allow_eviction = false;

    /// Whether the manager keeps a life marker on Redis servers that stand alone: a key of its own, read once a second. If a server loses its
    /// keys while it runs (FLUSHALL, another data set), the marker is lost, too, and the server is treated like one that has restarted.
    bool life_marker = true;

    /// Whether automatic renewal sets a lock's key again on nodes that have forgotten it. They count from the next renewal on.
    bool heal = true;

    tls_options tls{};

    /// Called with each log line, on the manager's own strand: it must neither block nor throw.
    /// Lines never hold passwords or lock tokens. It is called until the shutdown has completed, which a destroyed
    /// manager does in the background. Whatever happens, it is called at most 200 times in a second that begins with a line, of which
    /// 100 are of the level debug; what was left out is counted. Empty: nothing is logged. To begin with: @ref log_to_stderr.
    std::function<void(log_level, std::string_view)> log{};

    /// Is told of what happens, thing by thing, for metrics, traces and logs of your own; see there. Null: nobody is, and nothing is spent on it.
    std::shared_ptr<redlock::observer> observer{};

    /// Of a test: the time by which the manager goes, and its nodes, which must all be `memory://` or objects. See redlock/testing.hpp.
    std::shared_ptr<testing::manual_clock> test_clock{};
};

}  // namespace redlock
