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

namespace redlock::inline v0 {

namespace asio = boost::asio;

/// A key of a command on several keys that has another holder.
struct taken_key {
    std::uint32_t index = 0;                ///< The index in the command's keys.
    std::chrono::milliseconds remaining{};  ///< The key's time to live: see `node_reply::remaining`.
    bool handed_on = false;                 ///< Whether its holder hands it on: see `node_reply::handed_on`.

    /// Whether all members are equal.
    friend bool operator==(taken_key const&, taken_key const&) = default;
};

/// The knowledge of a node about a lock besides its value: see `node_reply::details`.
struct key_details {
    /// A client that shares the lock.
    struct reader {
        std::string value{};                     ///< The value of the lock: `lock::token`.
        std::chrono::milliseconds remaining{0};  ///< How long it shares the lock, unless it extends that time.
    };
    /// A client that was denied the lock lately.
    struct waiting {
        std::string contender{};  ///< See `node_command::contender`.
        std::string note{};       ///< See `node_command::note`. Empty: there is none, or the node does not keep it.
        bool shares = false;      ///< Whether it wants to share the lock.
    };

    std::vector<reader> readers{};   ///< At most 64 of a shared lock: those that expire last.
    std::vector<waiting> waiters{};  ///< At most 64 of them.
    bool knows_readers = false;      ///< Whether the node lists readers.
    bool knows_waiters = false;      ///< Whether the node notes waiting clients at all.

    std::vector<std::string> keys{};  ///< The keys that a scan has found: see `node_command::kind::scan`.
};

/// The answer of a node to one operation.
struct node_reply {
    /// The answer. An unknown vote counts neither for nor against the command.
    ///
    /// | command | granted | denied |
    /// |---|---|---|
    /// | acquire | set | another holder has it |
    /// | extend | extended | not ours any more |
    /// | replace | replaced | held by neither |
    /// | release | deleted | does not exist, or is not ours |
    /// | inspect | locked | free |
    /// | scan | listed | |
    ///
    /// With several keys, granted means all of them.
    redlock::vote vote = vote::unknown;
    /// Whether it is certain that the node did not and will not carry out the operation; for an unknown vote.
    bool untouched = false;
    /// Why the vote is unknown; none for other votes. `errc::quarantined`: the node carried out the operation and would
    /// grant it. But the part of the node that has the key may have forgotten other holders. If the whole node is in
    /// quarantine, it grants instead, and its @ref server_identity tells the manager about the quarantine.
    error_code error{};
    /// The server's own words, without secrets, for an unknown vote; the value of the key for a granted inspection. For
    /// a scan: the place where the next scan begins, or empty if there are no more keys. A node may also return the
    /// value of a key that is not in a set, for a denied acquisition that contends.
    std::string text{};
    /// The key's time to live (TTL), for a granted inspection, and for a denied acquisition that contends. Negative:
    /// the key never expires.
    std::chrono::milliseconds remaining{0};
    /// How long the node promises to keep the key, from the time when the command was sent; for a granted acquisition
    /// or extension. The default is the maximum: it stands for the ttl. The time is less than the ttl if the node's own
    /// session or lease ends earlier. The lock is valid for as long as a quorum has promised. Zero or less promises
    /// nothing.
    std::chrono::milliseconds good_for = std::chrono::milliseconds::max();
    /// The fencing counter, which depends on the command:
    /// - For a granted acquisition that proposed a token: the counter, if this grant has raised it to the proposal or
    ///   higher. Otherwise 0.
    /// - For a granted shared acquisition: the counter as it is. 0: there is none.
    /// - For a granted raise: the counter.
    std::uint64_t fence = 0;
    bool healed = false;  ///< Whether the key did not exist, and the node has set it; for a denied extension.
    /// Whether the node will notify of the key's next change; for a denied acquisition that watches, and for an
    /// inspection that watches.
    bool watched = false;
    /// Whether the manager that holds the lock hands it on to its own waiters; for a denied acquisition that contends.
    /// Then `remaining` and `watched` are about the end of these hand-overs, not about each change of the holder.
    bool handed_on = false;
    /// How many waiting clients come before this one, as far as the node tells; for a denied acquisition that contends
    /// for one key. When the key is free, they ask first.
    std::uint32_t ahead = 0;
    /// Whether other clients come first, in the order in which they began to wait; for a denied acquisition that
    /// contends for one key. Then the client stands by: a change of the key concerns the first clients only, and the
    /// node calls this client when it is one of them. See @ref node_events::changed .
    bool stands_by = false;
    /// Whether the node has lately denied the key to others; for a granted acquisition that contends.
    bool wanted = false;
    /// Whether only a waiting writer keeps the reader out; for a denied shared acquisition. No writer holds the lock.
    /// Then `remaining` is the longest time that the node remembers the waiting writer. `watched` is also about the
    /// moment when it forgets it.
    bool behind_writer = false;

    // For several keys, and for an upgrade.

    /// The keys that have other holders, in the order of the command; for a denied acquisition that contends or wants
    /// any key. Then `remaining` and `handed_on` of the reply have no meaning.
    std::vector<taken_key, detail::recycler<taken_key>> taken{};
    /// How many keys the value has, which depends on the command:
    /// - For an acquisition that grows: how many keys, counted from the first one, now hold the value.
    /// - For a release: how many keys were deleted.
    /// - For a denied upgrade of one key: 1 if the value is still a reader of the key, and there are other readers.
    ///   Then `remaining` is the longest time that they share the key, if nobody extends it.
    std::uint32_t ours = 0;
    std::uint32_t chosen = 0;  ///< The index of the key that was chosen; for a granted acquisition of any key.
    /// The readers and waiting clients of the key, for an inspection; the keys, for a scan. Null: the node does not
    /// tell.
    std::shared_ptr<key_details const> details{};
};

/// The requirements and limits of a node.
struct node_limits {
    /// The shortest ttl that the node accepts. The manager refuses a shorter ttl with `errc::invalid_argument`, naming
    /// the node.
    std::chrono::milliseconds ttl_min{0};
    /// The longest time to wait for an answer of this node, if it is more than `config::node_timeout`: at most a
    /// minute. A round does not wait longer for the other nodes. The ttl of a lock must be longer than the longest such
    /// time of all nodes.
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
    /// @ref node_command::kind::found.
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

/// The keys of a command, each once: a view. They are sorted by their bytes. Exception: if an acquisition wants any of
/// them, they are in its order of preference. The release that follows has its keys in the same order.
struct key_view : std::span<std::string const> {
    using span::span;

    /// Views @p keys, which must live as long as the view.
    key_view(std::span<std::string const> keys) noexcept : span(keys) {}

    /// Whether both have the same keys, in the same order.
    friend bool operator==(key_view a, key_view b) noexcept
    {
        bool const same = a.data() == b.data() && a.size() == b.size();  // the keys of one round, for all nodes
        return same || std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
};

/// A command to a node: a value. The data that it views lives as long as the operation that carries it.
struct node_command {
    /// The kinds of commands.
    enum class kind : std::uint8_t {
        /// If the key does not exist, set it to the value for the ttl: `SET key value NX PX ttl`. If @ref fence is not
        /// 0, also raise the key's counter to @ref fence, even if the key exists. Never lower the counter. A counter
        /// that increases by itself may become higher than @ref fence.
        ///
        /// Several keys: set all of them. If one of them exists, set none, unless @ref grows. Set counters only if all
        /// keys are set. With @ref any : set one of them.
        acquire,
        /// If the key's counter is lower than @ref fence, set it to @ref fence. Then add one. The node grants, with the
        /// counter. Several keys: set all their counters to the same number, one more than the highest of them and
        /// @ref fence.
        raise,
        /// If the key holds the value, raise its time to live to the ttl, but never shorten it. If the key does not
        /// exist, set it, but only if @ref heal is set and there is no tombstone. Several keys: all of them, or none.
        extend,
        /// If the key holds the value, delete it. Several keys: delete each key that holds the value. If
        /// @ref node_operation::leaves_tombstone, leave a tombstone for ten minutes, for the first key with this value.
        release,
        inspect,  ///< Read the key's value and time to live.
        connect,  ///< Get ready for other commands: granted once @ref node::ready is true. Nothing is sent for it.
        /// If this value is the only reader of the key, make it the exclusive holder. The time to live becomes at
        /// least the ttl, and never shorter than before. Also granted if the value is the exclusive holder already:
        /// then raise the time to live. @ref fence as for acquire.
        upgrade,
        /// If the key holds the value exclusively, make the value a reader again, for the remaining time to live. Also
        /// granted if the value is a reader already.
        downgrade,
        /// Another process takes the lock over under a new value. If the key holds @ref former, set it to the value. In
        /// both cases, and if the key holds the value already, raise its time to live to the ttl, but never shorten it.
        /// If there is a tombstone for the value, deny. Several keys: all of them, or none.
        replace,
        /// The contender has stopped waiting for all of these keys: forget that it was denied. The manager does not
        /// wait for the answer. A node that remembers no contenders grants.
        withdraw,
        /// List keys that begin with @ref key. The scan begins at the place @ref value, which an earlier answer of this
        /// node named; empty: at the first key. The answer has about @ref limit keys, and may have fewer, or none. It
        /// may also have other keys, which the manager ignores. If a key exists as long as the scans last, one of the
        /// answers has it. A node that cannot list its keys answers `errc::unsupported`.
        scan,
        /// All nodes of the set are new to the prefix: nobody has locks there, so this server votes from now on. If it
        /// is not new any more, nothing changes, and the node denies. A server that keeps no record of its memory does
        /// nothing, and grants.
        found,
    };

    /// Whether the manager hands the lock on to its own waiters. Waiters of other managers are notified only when the
    /// last hand-over ends.
    enum class handovers : std::uint8_t {
        unsaid,  ///< Nothing changes.
        follow,  ///< For an acquisition that contends: more waiters follow.
        end,     ///< No more waiters follow.
    };

    kind what = kind::connect;  ///< The kind of the command.
    /// The mode of the lock, for commands on one key. Shared: the key holds the word `:=shared` as long as there are
    /// readers. The node also keeps a list of the readers' values, each until its ttl is over. The key lives as long as
    /// the longest of these.
    /// - Acquire: enter the value into the list, unless a writer holds the key, or waits for it.
    /// - Extend, heal and release: change the value's entry in the list. The last reader that leaves deletes the key.
    /// - Shared commands also extend and release a value that holds the key exclusively.
    redlock::mode mode = mode::exclusive;
    bool passes = false;                      ///< Whether a shared acquisition passes waiting writers.
    handovers handed_on = handovers::unsaid;  ///< Whether the manager hands the lock on.
    bool heal = false;                        ///< Whether an extension sets a missing key: see `kind::extend`.
    /// Whether the manager has upgraded the shared lock that is extended. If the key is still shared, the node
    /// extends this reader's entry, but denies. If the key does not exist, @ref heal sets it with this value as the
    /// exclusive holder.
    bool alone = false;
    /// Whether to notify of the next change of each taken key, if an acquisition contends and is denied. For an
    /// inspection: whether to notify of the next change of the key.
    bool watch = false;
    /// Whether an acquisition of several keys keeps the keys that it gets; it contends. If there is a tombstone, the
    /// node does nothing, and denies. Otherwise the node goes through the keys, up to the first key that another holder
    /// has. It sets each key that does not exist. If a key already holds this value, the node raises its time to live.
    /// After the first taken key, the node deletes each key that holds this value. It grants if all keys hold the
    /// value.
    bool grows = false;
    /// Whether an acquisition of several keys sets only the first key that does not exist, and this key's counter. It
    /// is denied if all keys exist.
    bool any = false;
    /// The keys: one for an inspection or a scan, none to connect, one or several for other commands.
    key_view keys{};
    std::string_view value{};  ///< The value of the lock: `lock::token`. For a scan: the place where it begins.
    /// The client that asks, for an acquisition, an upgrade or a withdrawal. All commands of one manager have the same
    /// contender. Empty: the command does not contend.
    std::string_view contender{};
    std::string_view former{};         ///< The value that @ref kind::replace replaces.
    std::chrono::milliseconds ttl{0};  ///< The time to live of the key, from when the server carries out the command.
    /// The proposed token, to acquire or raise with fencing; otherwise 0. A shared acquisition reads the counter and
    /// does not change it: a grant answers with the counter. A shared raise sets the counter to this token if the
    /// counter is lower, and does not add one.
    std::uint64_t fence = 0;
    /// The note of the acquisition, for a command that contends: see `acquire_options::note`. A node that keeps it may
    /// return it as `key_details::waiting::note`.
    std::string_view note{};
    std::uint32_t limit = 0;  ///< For a scan: the number of keys to list.

    /// The first key.
    std::string const& key() const noexcept { return keys.front(); }

    /// Whether the command is about more than one key.
    bool has_several_keys() const noexcept { return keys.size() > 1; }

    /// Whether the command is about a shared lock.
    bool is_shared() const noexcept { return mode == redlock::mode::shared; }

    /// Whether the command may set a key to the value after a release of the value.
    bool may_set_again() const noexcept { return heal || grows || what == kind::replace; }

    /// Whether the command may prolong the life of a key that the lock has.
    bool prolongs() const noexcept { return what == kind::extend || what == kind::upgrade || what == kind::replace; }

    /// Whether the command contends. Such a command asks whether the node has lately denied the same key to others. If
    /// the command itself is denied, it also asks for how long.
    bool contends() const noexcept { return !contender.empty(); }

    /// Whether all members are equal; keys by their text.
    friend bool operator==(node_command const&, node_command const&) = default;
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
    /// - raising a counter (if `config::fencing` needs that);
    /// - several keys (all and any);
    /// - sharing and upgrades;
    /// - replacing the value (`acquire_options::new_token`).
    ///
    /// If the node cannot carry out a kind of command, the manager refuses calls that need it with `errc::unsupported`,
    /// naming the node. It sends nothing for such a call.
    virtual bool can(node_command const& command) const noexcept
    {
        return !command.has_several_keys() && !command.is_shared() && command.what != node_command::kind::replace;
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
