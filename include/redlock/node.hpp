#pragma once

#include <redlock/clock.hpp>
#include <redlock/detail/api.hpp>
#include <redlock/node_command.hpp>
#include <redlock/node_reply.hpp>
#include <redlock/server_identity.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::inline v1 {

namespace asio = boost::asio;

/// The requirements and limits of a node.
struct node_limits {
    /// The shortest ttl that the node accepts. The manager refuses a shorter ttl with `errc::invalid_argument`, naming
    /// the node.
    std::chrono::milliseconds ttl_min{0};
    /// The longest time to wait for an answer of this node, if it is more than `manager_options::node_timeout`: at most
    /// a minute. A round does not wait longer for the other nodes. The ttl of a lock must be longer than the longest
    /// such time of all nodes.
    std::chrono::milliseconds timeout{0};
    /// Whether the keys are deleted when a session of the node ends. Then no other process can resume a lock. The
    /// manager refuses `lock::detach` and functions with a ticket with `errc::unsupported`, naming the node.
    bool ends_with_session = false;
};

/// The notifications of a node to its manager. The node calls them on its executor, never from within another call.
/// All are set by the manager.
struct node_events {
    /// Tells of a new connection to this server. The node calls it before the first reply on that connection.
    std::function<void(server_identity const&)> connected{};

    /// Tells that the node knows more about the server of the present connection, such as after
    /// @ref commands::found.
    std::function<void(server_identity const&)> learned{};

    /** Tells that a watched key was changed or deleted, or has expired. The watch ends with the notification.

        The node also calls it when a key that this manager has set does not exist any more. Then the manager tries to
        renew the lock at once.

        If a notification comes before the answer to an acquisition, it counts as older than that answer. A later change
        needs another notification.

        Three other events have keys of their own. The end of hand-overs has `lock:stock:=turn:{lock:stock}`. When other
        clients stop waiting, the key is `lock:stock:=wanted:{lock:stock}`. When a client that stands by is called, the
        key is that, `:`, and the contender. An empty key means that the node may have missed changes, because a
        connection ended. The manager polls a node that never notifies. */
    std::function<void(std::string_view key)> changed{};
};

/** One command to one node, and the receiver of its reply.

    The manager and the node own it together. The manager may stop waiting for the reply at any moment. The node still
    carries out the operation or refuses it. Everything happens on the executor on which the node was started.
*/
class REDLOCK_API node_operation {
public:
    virtual ~node_operation() = default;

    /// The command. It does not change between @ref node::submit and the end of the operation's life.
    virtual node_command const& command() const noexcept = 0;

    clock::time_point not_after;  ///< The node must not send the command later than this.

    /// Whether the node must not send the operation any more. A node checks this right before sending.
    virtual bool withdrawn() const noexcept = 0;

    /// Notes that the first byte may be sent now; the node calls it before that. @p connection is not 0, and changes
    /// with each reconnection.
    virtual void mark_sent(std::uint32_t connection) noexcept = 0;

    /// The connection on which the operation may have been sent. 0: it was not sent on any connection.
    virtual std::uint32_t sent_on() const noexcept = 0;

    /// The first connection with an unanswered request that sets the key to the value, for a release. 0: there is none.
    virtual std::uint32_t unanswered_on() const noexcept = 0;

    /// Whether a release on @p connection leaves a tombstone. It does if the server may carry out an unanswered request
    /// after the release.
    bool leaves_tombstone(std::uint32_t connection) const noexcept
    {
        auto const unanswered = unanswered_on();
        return unanswered != 0 && unanswered != connection;
    }

    /// Ends the operation with @p reply. The node calls it exactly once, but never from within @ref node::submit.
    virtual void complete(node_reply reply) = 0;
};

/** One lock server. Implement this class to keep locks in something other than Redis: docs/nodes.md.

    If an operation was marked as sent and its answer got lost, it completes with `vote::unknown`, and `untouched` is
    false. A node never sends an operation twice. The server must carry out the operations of one connection in order.

    @par Thread safety
    The manager's constructor calls @ref limits, @ref can and @ref start. After that, the manager calls all functions on
    the executor, unless their comment says otherwise.
*/
class REDLOCK_API node {
public:
    virtual ~node() = default;

    /// The address for people, without user and password. Constant.
    virtual std::string const& name() const noexcept = 0;

    /// Whether the node would send an operation at once if it were submitted now. May be called from any thread.
    virtual bool ready() const noexcept = 0;

    /// The node's limits, which do not change. Called once, before @ref start.
    virtual node_limits limits() const { return {}; }

    /// Whether the node can carry out commands such as @p command. The keys of @p command are examples. The manager
    /// calls this before @ref start, once for each kind of command beyond a plain lock:
    /// - raising a counter (if `manager_options::fencing` needs that);
    /// - several keys (all and any);
    /// - sharing and upgrades;
    /// - replacing the value (`acquire_options::new_token`).
    ///
    /// If the node cannot carry out a kind of command, the manager refuses calls that need it with `errc::unsupported`,
    /// naming the node. It sends nothing for such a call.
    virtual bool can(node_command const& command) const noexcept
    {
        return !command.has_several_keys() && !command.is_shared() && command.which() != node_command::kind::replace;
    }

    /// Whether the node notifies of changes to watched keys. May be called from any thread.
    virtual bool notifies() const noexcept { return false; }

    /// Whether the server may still execute commands that were sent on @p connection. This connection has ended, or a
    /// later one has replaced it. Called on the executor.
    virtual bool may_still_execute(std::uint32_t connection) const
    {
        static_cast<void>(connection);
        return true;
    }

    /// Other nodes of the set have been in use, so it is not new. If this node's server says that it is new
    /// ( @ref server_identity::fresh ), it may have lost its keys. The node notes that in the server's record, so that
    /// no manager founds the server later. Called on the executor.
    virtual void note_old_set() {}

    /// Starts the node. Called once, before @ref submit. Functions on @p executor never run at the same time. The
    /// executor does not keep its context running. If a node gets its answers from outside the context, it needs a work
    /// guard of it.
    /// @param executor The executor on which the manager calls the node, and the node calls the manager.
    /// @param events The node calls these; it drops them when it is closed or abandoned.
    virtual void start(asio::any_io_executor executor, node_events events) = 0;

    /// Takes an operation. The node keeps it until it can be sent, or until `not_after`.
    virtual void submit(std::shared_ptr<node_operation> operation) = 0;

    /// Ends the connection and completes pending operations. Called once; nothing is submitted afterwards.
    virtual void close() = 0;

    /// Ends the node without its context. Called instead of @ref close when the execution context is being destroyed.
    /// Release everything that refers to the context. No operation needs to complete. Start nothing on the executor any
    /// more.
    virtual void abandon() { close(); }
};

}  // namespace redlock
