#pragma once

#include <redlock/detail/api.hpp>

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <type_traits>

namespace redlock::inline v1 {

using boost::system::error_code;
using boost::system::system_error;

/** The errors of an operation, or of the vote of one node.

    The first group (1 to 10) is the outcome of operations. The second group (from 20) appears per node only, in
    @ref attempt_report and @ref stats. An operation that was cancelled, or that the manager's shutdown ends, completes
    with `boost::asio::error::operation_aborted`. The message of its report, which is `what()`, tells which of these.
    The values are stable: they are never renumbered or used again. `error_code == errc::contended` compares.
*/
enum class errc {
    /// Somebody else holds the lock. Wait longer (`acquire_options::wait`), or give way.
    contended = 1,
    /// Too few nodes answered for a majority. Look at the nodes, not at the lock. Try again later.
    no_quorum = 2,
    /// A majority granted the lock, but too late: hardly any validity was left. The manager released it. Use a longer
    /// ttl, or find what is slow.
    validity_exhausted = 3,
    /// The lock was held and could not be kept. Stop the work that it protects.
    lost = 4,
    /// The lock is not held: it was never acquired, was released before, has expired, or was deleted on the servers.
    /// After a release, the work may not have been alone.
    not_held = 5,
    /// There is no majority, because nodes that are new or have restarted do not vote yet
    /// (`manager_options::restart_guard`). As
    /// the vote of one node: it would have granted the lock. `attempt_report::quarantine` says how long to wait. If all
    /// nodes are new, `lock_manager::async_found` lets them vote at once. Nodes with a durable log vote at once after
    /// a restart.
    quarantined = 6,
    /// An argument is out of range. `attempt_report::message` names the field, the value and the limit. Correct it.
    invalid_argument = 7,
    /// A node cannot do what was asked for. Nothing was sent. `attempt_report::message` names the node and what it
    /// cannot do. Use another node, or do not ask for it.
    unsupported = 8,
    /// Too many calls of this manager were under way, so its turn to ask the nodes did not come within the call's
    /// `wait`, nor within `manager_options::connect_timeout`. Make fewer calls at once, or try again later. Or the
    /// manager has
    /// as many locks as its nodes can renew: hold fewer, or with a longer TTL.
    overloaded = 9,
    /// The shutdown could not release all keys in time; they expire by themselves. Only if
    /// `shutdown_options::keys_left_is_error` is set. `events::keys_left` has their number.
    keys_left = 10,

    /// The node did not answer within `manager_options::node_timeout`, or its store's longer timeout. If the answer
    /// comes late,
    /// the manager releases what it leaves behind. Look at load and network; the timeout may be too short.
    node_timeout = 20,
    /// There is no connection to the node, so nothing was sent. Look at address, port and firewall.
    node_unreachable = 21,
    /// The connection broke while an answer was due. Look at the network and the server.
    connection_lost = 22,
    /// The node was closed, or the manager was shut down, before the request was sent. Use a manager that still runs.
    node_closed = 23,
    /// The server requires a password, or refused the one that it got. Correct user and password in the node's URL.
    authentication_failed = 24,
    /// The user lacks a permission on the server. Grant it: `node_report::message` names it, and docs/guarantees.md and
    /// docs/stores.md list what is needed.
    permission_denied = 25,
    /// The server is starting up, loading its data or shutting down (LOADING). Wait: it votes again by itself.
    node_loading = 26,
    /// The server is a replica or otherwise read-only (READONLY, MASTERDOWN). Name the primary instead.
    node_read_only = 27,
    /// The server is busy with a script (BUSY), or another transaction blocks it. Wait: it votes again by itself.
    node_busy = 28,
    /// The server is at its memory limit (OOM). Look at its memory and configuration.
    node_out_of_memory = 29,
    /// The server refuses writes: because of its configuration (MISCONF, NOREPLICAS), a full disk, or too many
    /// connections. Read `node_report::message`, and look at the server.
    node_refuses_writes = 30,
    /// The server is part of a cluster, and another member has the key (MOVED, ASK, TRYAGAIN, CLUSTERDOWN). Name
    /// standalone servers, or the whole cluster with `redis-cluster://`.
    wrong_cluster_node = 31,
    /// The key holds something else than a lock (WRONGTYPE). Choose another prefix or resource.
    wrong_type = 32,
    /// The server forgot a script twice in a row (NOSCRIPT). Look for a client that removes scripts (SCRIPT FLUSH).
    script_missing = 33,
    /// The server cannot do what locks need: its version is too old, or its setup does not fit. `node_report::message`
    /// has the reason.
    unsupported_server = 34,
    /// The bytes are not the protocol of such a server, or an answer has an unexpected form. Check the address.
    unexpected_reply = 35,
    /// The node is the same server as another node of this configuration; one server has one vote. Name another server.
    duplicate_node = 36,
    /// Any other error reply. Read the server's words in `node_report::message`.
    server_error = 37,
    /// The server could evict a lock when its memory is full. Set its `maxmemory-policy` to noeviction, or set
    /// `manager_options::allow_eviction`.
    node_may_evict = 38,
};

/// The category of @ref errc ; its name is "redlock". May be called from any thread.
REDLOCK_API boost::system::error_category const& error_category() noexcept;

/// Makes the error code of @p e. Boost.System calls this to convert and compare.
inline error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), error_category()}; }

}  // namespace redlock

/// Lets Boost.System convert @ref redlock::errc to an error code.
template <>
struct boost::system::is_error_code_enum<redlock::errc> : std::true_type {};
