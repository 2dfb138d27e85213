#pragma once

#include <redlock/clock.hpp>
#include <redlock/detail/api.hpp>
#include <redlock/detail/recycler.hpp>
#include <redlock/mode.hpp>
#include <redlock/report.hpp>
#include <redlock/server_identity.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock {

namespace asio = boost::asio;

/// One of the keys of a command on several keys, which has another holder.
struct taken_key {
    std::uint32_t index = 0;                ///< its index in the command's keys
    std::chrono::milliseconds remaining{};  ///< as `node_reply::remaining`, for this key
    bool handed_on = false;                 ///< as `node_reply::handed_on`, for this key

    friend bool operator==(taken_key const&, taken_key const&) = default;
};

/// The answer of a node to one operation.
struct node_reply {
    /// | command | granted | denied |
    /// |---|---|---|
    /// | acquire | set | another holder has it |
    /// | extend | extended | not ours any more |
    /// | release | deleted | does not exist, or is not ours |
    /// | inspect | locked | free |
    ///
    /// With several keys, granted means all of them.
    redlock::vote vote = vote::unknown;
    /// For an unknown vote: true if it is certain that the node did not and will not carry out the operation.
    bool untouched = false;
    /// Why the vote is unknown. `errc::quarantined`: the node carried out the operation and would grant it. But the
    /// part of the node that has the key may have forgotten other holders. A node that is quarantined as a whole
    /// grants, and says so by its @ref server_identity.
    error_code error{};
    /// For an unknown vote: the server's own words, without secrets. For a granted inspection: the value of the key.
    std::string text{};
    /// For a granted inspection, and for a denied acquisition that contends: the key's time to live (TTL). Negative:
    /// the key never expires.
    std::chrono::milliseconds remaining{0};
    /// For a granted acquisition or extension: how long the node promises to keep the key, from the time when the
    /// command was sent. The maximum, the default: for the ttl. It is less than the ttl if the node's own session or
    /// lease ends before. The lock is valid for as long as a quorum has promised. Zero or less promises nothing.
    std::chrono::milliseconds good_for = std::chrono::milliseconds::max();
    /// The fencing counter:
    /// - For a granted acquisition that proposed a token: the counter, if this grant has raised it to the proposal or
    ///   beyond. Otherwise 0.
    /// - For a granted shared acquisition: the counter as it is. 0: there is none.
    /// - For a granted raise: the counter.
    std::uint64_t fence = 0;
    bool healed = false;   ///< For a denied extension: the key did not exist, and was set.
    bool watched = false;  ///< For a denied acquisition that watches: the node will notify of the key's next change.
    /// For a denied acquisition that contends: the manager that holds the lock hands it on to its own waiters. Then
    /// `remaining` and `watched` are about the end of these hand-overs, not about each change of the holder.
    bool handed_on = false;
    bool wanted = false;   ///< For a granted acquisition that contends: others were denied lately.
    /// For a denied shared acquisition: no writer holds the lock, but a writer waits for it. Then `remaining` is the
    /// longest time that this wish lasts, and `watched` is about its end, too.
    bool behind_writer = false;

    // For several keys, and for an upgrade.

    /// For a denied acquisition that contends or wants any key: the keys that have other holders, in their order. Then
    /// `remaining` and `handed_on` have no meaning.
    std::vector<taken_key, detail::recycler<taken_key>> taken{};
    /// - For an acquisition that grows: how many keys, from the first on, now hold the value.
    /// - For a release: how many keys were deleted.
    /// - For a denied upgrade of one key: 1 if the value still shares the key and other readers do, too. Then
    ///   `remaining` is the longest time that they share it, if nobody extends.
    std::uint32_t ours = 0;
    std::uint32_t chosen = 0;  ///< For a granted acquisition of any key: the index of the key that was chosen.
};

/// The requirements and limits of a node.
struct node_limits {
    /// The shortest ttl that the node accepts. A shorter lock is refused with `errc::invalid_argument`, naming the
    /// node.
    std::chrono::milliseconds ttl_min{0};
    /// The longest time to wait for an answer, if it is more than `config::node_timeout`. A round waits for the longest
    /// of all nodes, and a lock needs a longer ttl. At most a minute.
    std::chrono::milliseconds timeout{0};
    /// Whether the keys end with a session of the node, which deletes them. Then no other process can resume a lock:
    /// `lock::detach` and functions with a ticket are refused with `errc::unsupported`, naming the node.
    bool ends_with_session = false;
};

/// The notifications of a node. It calls them on its executor, never from within another call. Both are set.
struct node_events {
    /// There is a new connection, to this server. Comes before the first reply on that connection.
    std::function<void(server_identity const&)> connected;

    /** A watched key was changed or deleted, or has expired. The watch ends with the notification. Or: a key that this
        manager has set is gone. Then the manager tries to renew the lock at once.

        A notification before the answer to an acquisition counts as older than that answer. A later change needs
        another notification.

        The end of hand-overs has a key of its own, `lock:stock:=turn:{lock:stock}`. The end of other clients' wishes
        has `lock:stock:=wanted:{lock:stock}`. An empty key: the node may have missed changes, because a connection
        ended. A node that never notifies is polled. */
    std::function<void(std::string_view key)> changed;
};

/// The keys of a command, each once: a view. They are sorted by their bytes. If an acquisition wants any of them, they
/// are in its order of preference; so are the keys that are released after that.
struct key_view : std::span<std::string const> {
    using span::span;
    key_view(std::span<std::string const> keys) noexcept : span(keys) {}
    friend bool operator==(key_view a, key_view b) noexcept
    {
        bool const same = a.data() == b.data() && a.size() == b.size();  // the keys of one round, for all nodes
        return same || std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
};

/// A command to a node: a value. The data that it views lives as long as the operation that carries it.
struct node_command {
    enum class kind : std::uint8_t {
        /// Set the key to the value for the ttl, unless the key exists: `SET key value NX PX ttl`. If @ref fence is not
        /// 0, also set the key's counter to it if the counter is lower, whether or not the key exists. A counter that
        /// increases by itself may go beyond.
        ///
        /// Several keys: set all of them. If one of them exists, set none, unless @ref grows. Set counters only if all
        /// keys are set. With @ref any: set one of them.
        acquire,
        /// Set the key's counter to @ref fence if it is lower, then add one. Granted, with the counter. Several keys:
        /// set all their counters to one more than the highest of them and @ref fence.
        raise,
        /// If the key holds the value, raise its time to live to the ttl, but never shorten it. If the key does not
        /// exist, there is no tombstone, and @ref heal is set: set it. Several keys: all of them, or none.
        extend,
        /// If the key holds the value, delete it; of several keys, delete each that does. If
        /// @ref node_operation::leaves_tombstone, leave a tombstone for ten minutes, for the first key with this value.
        release,
        inspect,  ///< Read the key's value and time to live.
        connect,  ///< Get ready for other commands: granted once @ref node::ready is true. Nothing is sent for it.
        /// If only this value shares the key, let the key hold the value exclusively, for at least the ttl, and not
        /// shorter than before. Also granted if it does already: then raise its time to live. @ref fence as for
        /// acquire.
        upgrade,
        /// If the key holds the value exclusively, share it again, for its remaining time to live. Also granted if it
        /// is shared.
        downgrade,
        /// The contender does not wait any more, for any of the keys: forget that it was denied. The manager does not
        /// wait for the answer. A node that remembers no contenders grants.
        withdraw,
    };

    /// Whether the manager hands the lock on to its own waiters. Waiters of other managers are notified only of the
    /// end.
    enum class handovers : std::uint8_t {
        unsaid,  ///< Nothing changes.
        follow,  ///< For an acquisition that contends: more waiters follow.
        end,     ///< No more waiters follow.
    };

    kind what = kind::connect;
    /// For commands on one key. Shared: the key holds the word `:=shared` as long as there are readers. A list beside
    /// the key holds the values of the readers, each until its ttl is over. The key lives as long as the longest of
    /// them.
    /// - Acquire: enter the list, unless a writer holds the key, or waits for it.
    /// - Extend, heal and release: change the value's entry in the list. The last reader that leaves deletes the key.
    /// - A value that holds the key exclusively may be extended and released like this, too.
    redlock::mode mode = mode::exclusive;
    bool passes = false;         ///< For a shared acquisition: writers that wait do not stop it.
    handovers handed_on = handovers::unsaid;
    bool heal = false;           ///< For an extension: see @ref kind::extend.
    /// For the extension of a shared lock: the lock was upgraded. If the value is one of several readers, it is
    /// extended but not granted. If the key does not exist, it is set to the value alone.
    bool alone = false;
    /// If an acquisition contends and is denied: notify of the next change of each taken key.
    bool watch = false;
    /// For an acquisition of several keys that contends: the node goes through them from the first on, up to one that
    /// is taken. It sets each that does not exist, and raises the time to live of each that holds the value from
    /// before. Behind the taken key, it deletes those that hold the value. If there is a tombstone, it does nothing.
    /// Granted if all keys hold the value.
    bool grows = false;
    /// For an acquisition of several keys: set the first that does not exist, and only its counter. Denied if all
    /// exist.
    bool any = false;
    key_view keys{};             ///< One for an inspection, one or several for others, none to connect.
    std::string_view value{};
    /// For an acquisition, an upgrade or a withdrawal: the client that asks, the same for all of one manager. Empty:
    /// the command does not contend.
    std::string_view contender{};
    std::chrono::milliseconds ttl{0};
    /// To acquire or raise with fencing: the proposed token. Otherwise 0. A shared command does not increase the
    /// counter for itself. A granted acquisition answers with the counter as it is. A raise sets it to this if it is
    /// lower.
    std::uint64_t fence = 0;

    /// The first key.
    std::string const& key() const noexcept { return keys.front(); }

    bool has_several_keys() const noexcept { return keys.size() > 1; }
    bool is_shared() const noexcept { return mode == redlock::mode::shared; }

    /// Whether the command may set a key that the value has held before.
    bool may_set_again() const noexcept { return heal || grows; }

    /// Whether the command may prolong the life of a key that holds the value.
    bool prolongs() const noexcept { return what == kind::extend || what == kind::upgrade; }

    /// Whether the command contends: it asks whether others were denied the same key lately, and for how long it is
    /// denied.
    bool contends() const noexcept { return !contender.empty(); }

    friend bool operator==(node_command const&, node_command const&) = default;
};

/** One command to one node, and the receiver of its reply.

    The manager and the node own it together. The manager may lose interest at any moment; the node carries it out or
    refuses. Everything happens on the executor on which the node was started.
*/
class REDLOCK_API node_operation {
public:
    virtual ~node_operation() = default;

    /// Does not change between @ref node::submit and the end of the operation's life.
    virtual node_command const& command() const noexcept = 0;

    clock::time_point not_after;  ///< The node must not send the command later than this.

    /// Whether the manager does not want it sent any more. A node asks right before sending.
    virtual bool withdrawn() const noexcept = 0;

    /// A node calls this before the first byte may leave. @p connection is not 0, and changes with each reconnection.
    virtual void mark_sent(std::uint32_t connection) noexcept = 0;

    /// The connection on which it may have been sent. 0: it was never handed to one.
    virtual std::uint32_t sent_on() const noexcept = 0;

    /// For a release: the first connection on which a request to set the key to the value is unanswered. 0: there is
    /// none.
    virtual std::uint32_t unanswered_on() const noexcept = 0;

    /// Whether a release on @p connection leaves a tombstone: that unanswered request may be carried out after it.
    bool leaves_tombstone(std::uint32_t connection) const noexcept
    {
        auto const unanswered = unanswered_on();
        return unanswered != 0 && unanswered != connection;
    }

    /// A node calls this exactly once, but never from within @ref node::submit.
    virtual void complete(node_reply reply) = 0;
};

/** One lock server. Implement this class to keep locks in something other than Redis: docs/nodes.md.

    If an operation was marked as sent and its answer got lost, it completes with `vote::unknown` and without
    `untouched`. It is never sent a second time. The server must carry out the operations of one connection in their
    order.

    @par Thread safety
    The manager's constructor calls @ref limits, @ref can and @ref start. Later functions are called on the executor,
    unless they say otherwise.
*/
class REDLOCK_API node {
public:
    virtual ~node() = default;

    /// The address for people, without user and password. Constant.
    virtual std::string const& name() const noexcept = 0;

    /// Whether an operation submitted now would be sent now. May be called from any thread.
    virtual bool ready() const noexcept = 0;

    /// The node's limits. Called once, before @ref start.
    virtual node_limits limits() const { return {}; }

    /// Whether the node can carry out commands such as @p command, whose keys are examples. Called once for each kind
    /// of command beyond a plain lock, before @ref start. These are raising a counter (if `config::fencing` needs
    /// that), several keys (all and any), sharing and upgrades. If the node cannot, the manager refuses calls that need
    /// it, before anything is sent, with `errc::unsupported`, naming the node.
    virtual bool can(node_command const& command) const noexcept
    {
        return !command.has_several_keys() && !command.is_shared();
    }

    /// Whether the node notifies of changes to watched keys. May be called from any thread.
    virtual bool notifies() const noexcept { return false; }

    /// Whether the server may still execute commands that were sent on @p connection. That is not the latest
    /// connection: it has ended, or others have replaced it. Called on the executor.
    virtual bool may_still_execute(std::uint32_t connection) const
    {
        static_cast<void>(connection);
        return true;
    }

    /// Called once, before @ref submit. Functions on @p executor never run at the same time. The executor does not keep
    /// its context running: a node that answers from elsewhere needs a work guard of the context itself.
    virtual void start(asio::any_io_executor executor, node_events events) = 0;

    /// Takes an operation. The node keeps it until it can be sent, or its time is over.
    virtual void submit(std::shared_ptr<node_operation> operation) = 0;

    /// Called once. Ends the connection and completes pending operations. Nothing is submitted afterwards.
    virtual void close() = 0;

    /// Called instead of @ref close when the execution context is being destroyed: release everything that refers to
    /// it. No operation needs to complete, and nothing may be started on the executor any more.
    virtual void abandon() { close(); }
};

}  // namespace redlock
