#pragma once

#include <redlock/detail/api.hpp>

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <type_traits>

namespace redlock {

using boost::system::error_code;
using boost::system::system_error;

/** What an operation, or one node's vote in it, can fail with.

    The first group is the outcome of operations. The second appears per node only, in
    @ref attempt_report and @ref stats. Cancellation is `boost::asio::error::operation_aborted`.
    Values are stable: never renumbered, never used again.
*/
enum class errc {
    /// Somebody else holds the lock. Wait longer (`acquire_options::wait`), or give way.
    contended = 1,
    /// Too few nodes answered for a majority. Look at the nodes, not at the lock; try again later.
    no_quorum = 2,
    /// A majority granted the lock, but so late that it was hardly valid any more; it was given back.
    /// Use a longer ttl, or find out what is slow.
    validity_exhausted = 3,
    /// The lock was held and could not be kept. Stop the work it protects.
    lost = 4,
    /// The lock is not held: never acquired, already released, expired, or deleted on the servers.
    not_held = 5,
    /// A majority cannot be had because restarted nodes do not vote yet (`config::restart_guard`). As the vote of one node:
    /// it would have granted. `attempt_report::quarantine` says for how long; give the nodes a durable log to do without.
    quarantined = 6,
    /// An argument is outside its range. `attempt_report::message` names the field, the value and the limit.
    invalid_argument = 7,
    /// A node cannot do what is asked for. `attempt_report::message` names the node and what it is. Nothing was sent.
    unsupported = 8,

    /// No answer within `config::node_timeout`. The answer may still come; what it leaves behind is released.
    node_timeout = 20,
    /// No connection to the node, so nothing was sent.
    node_unreachable = 21,
    /// The connection broke while an answer was due.
    connection_lost = 22,
    /// The node was switched off, or the manager was shut down, before the request was sent.
    node_closed = 23,
    /// The server wants a password, or refused the one it got. Check user and password in the node's URL.
    authentication_failed = 24,
    /// The user has too few rights on the server. `node_report::message` says which; see docs/guarantees.md,
    /// docs/stores.md.
    permission_denied = 25,
    /// The server is starting up, loading its data or shutting down (LOADING). It votes again by itself.
    node_loading = 26,
    /// The server is a replica or otherwise read-only (READONLY, MASTERDOWN). Name the primary instead.
    node_read_only = 27,
    /// The server is busy, with a script (BUSY) or a transaction that stands in the way.
    node_busy = 28,
    /// The server is at its memory limit (OOM).
    node_out_of_memory = 29,
    /// The server refuses writes: because of its configuration (MISCONF, NOREPLICAS), a full disk, too many
    /// connections.
    node_refuses_writes = 30,
    /// The server is part of a cluster and the key lives elsewhere (MOVED, ASK, TRYAGAIN, CLUSTERDOWN).
    wrong_cluster_node = 31,
    /// The key holds something that is no lock (WRONGTYPE). Choose another prefix or resource.
    wrong_type = 32,
    /// The server forgot a script twice in a row (NOSCRIPT).
    script_missing = 33,
    /// The server cannot do what locks need: its version, or how it is set up. `node_report::message` has the reason.
    unsupported_server = 34,
    /// The peer's bytes are not the protocol of such a server, or an answer has an unexpected shape.
    unexpected_reply = 35,
    /// The node is the same server as another node of this configuration; one server has one vote.
    duplicate_node = 36,
    /// Any other error reply; `node_report::message` has the server's words.
    server_error = 37,
    /// The server could evict a lock when its memory is full. Set its `maxmemory-policy` to noeviction, or
    /// `config::allow_eviction`.
    node_may_evict = 38,
};

/// The category of @ref errc; its name is "redlock".
REDLOCK_API boost::system::error_category const& error_category() noexcept;

inline error_code make_error_code(errc e) noexcept
{
    return {static_cast<int>(e), error_category()};
}

}  // namespace redlock

template <>
struct boost::system::is_error_code_enum<redlock::errc> : std::true_type {};
