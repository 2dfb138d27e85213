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
#include <variant>
#include <vector>

namespace redlock::inline v1 {

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
        std::string contender{};  ///< See `commands::acquire::contender`.
        std::string note{};   ///< See `commands::acquire::note`. Empty: there is none, or the node does not keep it.
        bool shares = false;  ///< Whether it wants to share the lock.
    };

    std::vector<reader> readers{};   ///< At most 64 of a shared lock: those that expire last.
    std::vector<waiting> waiters{};  ///< At most 64 of them.
    bool knows_readers = false;      ///< Whether the node lists readers.
    bool knows_waiters = false;      ///< Whether the node notes waiting clients at all.

    std::vector<std::string> keys{};  ///< The keys that a scan has found: see `commands::scan`.
};

/// The answer of a node to one operation. Each group of members belongs to some commands; the others keep the defaults.
/// It is one struct, not a variant: most answers are a vote, and the manager reads the members after it knows its
/// command.
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

    // For a granted acquisition, extension or raise.

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
    /// Whether the node has lately denied the key to others; for a granted acquisition that contends.
    bool wanted = false;

    // For a denied extension.

    bool healed = false;  ///< Whether the key did not exist, and the node has set it.

    // For a denied acquisition that contends, or that is shared; some also for an inspection.

    /// The key's time to live (TTL), for a granted inspection, and for a denied acquisition that contends. Negative:
    /// the key never expires.
    std::chrono::milliseconds remaining{0};
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
    /// Whether only a waiting writer keeps the reader out; for a denied shared acquisition. No writer holds the lock.
    /// Then `remaining` is the longest time that the node remembers the waiting writer. `watched` is also about the
    /// moment when it forgets it.
    bool behind_writer = false;

    // For several keys, and for an upgrade: see `ours`.

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

    // For an inspection or a scan.

    /// The readers and waiting clients of the key, for an inspection; the keys, for a scan. Null: the node does not
    /// tell.
    std::shared_ptr<key_details const> details{};
};

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

/// The commands to a node, each with the members that only some commands have. The others are in @ref node_command .
namespace commands {

/// Whether the manager hands the lock on to its own waiters. Waiters of other managers are notified only when the last
/// hand-over ends.
enum class handovers : std::uint8_t {
    unsaid,  ///< Nothing changes.
    follow,  ///< For an acquisition that contends: more waiters follow.
    end,     ///< No more waiters follow.
};

/// If the key does not exist, set it to the value for the ttl: `SET key value NX PX ttl`. If @ref fence is not 0, also
/// raise the key's counter to @ref fence, even if the key exists. Never lower the counter. A counter that increases by
/// itself may become higher than @ref fence.
///
/// Several keys: set all of them. If one of them exists, set none, unless @ref grows. Set counters only if all keys are
/// set. With @ref any : set one of them.
struct acquire {
    /// Whether an acquisition of several keys keeps the keys that it gets; it contends. If there is a tombstone, the
    /// node does nothing, and denies. Otherwise the node goes through the keys, up to the first key that another holder
    /// has. It sets each key that does not exist. If a key already holds this value, the node raises its time to live.
    /// After the first taken key, the node deletes each key that holds this value. It grants if all keys hold the
    /// value.
    bool grows = false;
    /// Whether an acquisition of several keys sets only the first key that does not exist, and this key's counter. It
    /// is denied if all keys exist.
    bool any = false;
    bool passes = false;                      ///< Whether a shared acquisition passes waiting writers.
    handovers handed_on = handovers::unsaid;  ///< Whether the manager hands the lock on.
    /// Whether to notify of the next change of each taken key, if the acquisition contends and is denied.
    bool watch = false;
    /// The client that asks. All commands of one manager have the same contender. Empty: the command does not contend.
    std::string_view contender{};
    /// The note of an acquisition that contends: see `acquire_options::note`. A node that keeps it may return it as
    /// `key_details::waiting::note`.
    std::string_view note{};
    /// The proposed token; 0 without fencing. A shared acquisition reads the counter and does not change it: a grant
    /// answers with the counter.
    std::uint64_t fence = 0;

    /// Whether all members are equal.
    friend bool operator==(acquire const&, acquire const&) = default;
};

/// If the key's counter is lower than @ref fence, set it to @ref fence. Then add one. The node grants, with the
/// counter. Several keys: set all their counters to the same number, one more than the highest of them and @ref fence.
/// A shared raise does not add one.
struct raise {
    std::uint64_t fence = 0;  ///< The proposed token, which is not 0.

    /// Whether all members are equal.
    friend bool operator==(raise const&, raise const&) = default;
};

/// If the key holds the value, raise its time to live to the ttl, but never shorten it. If the key does not exist, set
/// it, but only if @ref heal is set and there is no tombstone. Several keys: all of them, or none.
struct extend {
    bool heal = false;  ///< Whether to set a missing key.
    /// Whether the manager has upgraded the shared lock that is extended. If the key is still shared, the node extends
    /// this reader's entry, but denies. If the key does not exist, @ref heal sets it with this value as the exclusive
    /// holder.
    bool alone = false;

    /// Whether all members are equal.
    friend bool operator==(extend const&, extend const&) = default;
};

/// If the key holds the value, delete it. Several keys: delete each key that holds the value. If
/// `node_operation::leaves_tombstone`, leave a tombstone for ten minutes, for the first key with this value.
struct release {
    handovers handed_on = handovers::unsaid;  ///< Whether the manager has handed the lock on: `unsaid` or `end`.

    /// Whether all members are equal.
    friend bool operator==(release const&, release const&) = default;
};

/// Read the value and the time to live of one key.
struct inspect {
    bool watch = false;  ///< Whether to notify of the next change of the key.

    /// Whether all members are equal.
    friend bool operator==(inspect const&, inspect const&) = default;
};

/// Get ready for other commands: granted once @ref node::ready is true. Nothing is sent for it. It has no keys.
struct connect {
    /// Always true.
    friend bool operator==(connect const&, connect const&) = default;
};

/// If this value is the only reader of the key, make it the exclusive holder. The time to live becomes at least the
/// ttl, and never shorter than before. Also granted if the value is the exclusive holder already: then raise the time
/// to live.
struct upgrade {
    bool watch = false;            ///< Whether to notify of the next change of the key, if the upgrade is denied.
    std::string_view contender{};  ///< As for @ref acquire.
    std::string_view note{};       ///< As for @ref acquire.
    std::uint64_t fence = 0;       ///< As for an exclusive @ref acquire.

    /// Whether all members are equal.
    friend bool operator==(upgrade const&, upgrade const&) = default;
};

/// If the key holds the value exclusively, make the value a reader again, for the remaining time to live. Also granted
/// if the value is a reader already.
struct downgrade {
    /// Always true.
    friend bool operator==(downgrade const&, downgrade const&) = default;
};

/// Another process takes the lock over under a new value. If the key holds @ref former, set it to the value. In both
/// cases, and if the key holds the value already, raise its time to live to the ttl, but never shorten it. If there is
/// a tombstone for the value, deny. Several keys: all of them, or none.
struct replace {
    std::string_view former{};  ///< The value that is replaced.

    /// Whether all members are equal.
    friend bool operator==(replace const&, replace const&) = default;
};

/// The contender has stopped waiting for all of these keys: forget that it was denied. The manager does not wait for
/// the answer. A node that remembers no contenders grants.
struct withdraw {
    std::string_view contender{};  ///< As for @ref acquire.

    /// Whether all members are equal.
    friend bool operator==(withdraw const&, withdraw const&) = default;
};

/// List keys that begin with the command's key. The scan begins at the place that is the command's value. An earlier
/// answer of this node named that place; empty: at the first key. The answer may have fewer keys than @ref limit, or
/// none. It may also have other keys, which the manager ignores. If a key exists as long as the scans last, one of the
/// answers has it. A node that cannot list its keys answers `errc::unsupported`.
struct scan {
    std::uint32_t limit = 0;  ///< About how many keys to list.

    /// Whether all members are equal.
    friend bool operator==(scan const&, scan const&) = default;
};

/// All nodes of the set are new to the prefix: nobody has locks there, so this server votes from now on. If it is not
/// new any more, nothing changes, and the node denies. A server that keeps no record of its memory does nothing, and
/// grants.
struct found {
    /// Ask only, and change nothing: grant if the server is still new. The server must get the question after this
    /// command came. The manager founds a set only if all nodes have granted this question.
    bool only_asks = false;

    /// Whether all members are equal.
    friend bool operator==(found const&, found const&) = default;
};

/// One of the commands, with its own members.
using variant =
    std::variant<acquire, raise, extend, release, inspect, connect, upgrade, downgrade, replace, withdraw, scan, found>;

}  // namespace commands

/// A command to a node: a value. The data that it views lives as long as the operation that carries it.
struct node_command {
    /// The kinds of commands, for a `switch`. They have the names and the order of `commands::variant`.
    enum class kind : std::uint8_t {
        acquire,    ///< See `commands::acquire`.
        raise,      ///< See `commands::raise`.
        extend,     ///< See `commands::extend`.
        release,    ///< See `commands::release`.
        inspect,    ///< See `commands::inspect`.
        connect,    ///< See `commands::connect`.
        upgrade,    ///< See `commands::upgrade`.
        downgrade,  ///< See `commands::downgrade`.
        replace,    ///< See `commands::replace`.
        withdraw,   ///< See `commands::withdraw`.
        scan,       ///< See `commands::scan`.
        found,      ///< See `commands::found`.
    };

    commands::variant what = commands::connect{};  ///< The command, with the members that only this kind has.
    /// The mode of the lock, for commands on one key. Shared: the key holds the word `:=shared` as long as there are
    /// readers. The node also keeps a list of the readers' values, each until its ttl is over. The key lives as long as
    /// the longest of these.
    /// - Acquire: enter the value into the list, unless a writer holds the key, or waits for it.
    /// - Extend, heal and release: change the value's entry in the list. The last reader that leaves deletes the key.
    /// - Shared commands also extend and release a value that holds the key exclusively.
    redlock::mode mode = mode::exclusive;
    /// The keys: one for an inspection or a scan, none to connect, one or several for other commands.
    key_view keys{};
    std::string_view value{};          ///< The value of the lock: `lock::token`. For a scan: the place where it begins.
    std::chrono::milliseconds ttl{0};  ///< The time to live of the key, from when the server carries out the command.

    /// The kind of the command.
    kind which() const noexcept { return static_cast<kind>(what.index()); }

    /// The members that only this kind of command has.
    /// @throws std::bad_variant_access if the command is of another kind
    template <class Command>
    Command const& as() const
    {
        return std::get<Command>(what);
    }

    /// The members that only this kind of command has, to change them.
    /// @throws std::bad_variant_access if the command is of another kind
    template <class Command>
    Command& as()
    {
        return std::get<Command>(what);
    }

    /// The first key.
    std::string const& key() const noexcept { return keys.front(); }

    /// Whether the command is about more than one key.
    bool has_several_keys() const noexcept { return keys.size() > 1; }

    /// Whether the command is about a shared lock.
    bool is_shared() const noexcept { return mode == redlock::mode::shared; }

    // Members that several kinds of commands have, or that are asked for whatever the kind is. A command that does not
    // have the member answers with its default.

    /// The client that asks, for an acquisition, an upgrade or a withdrawal.
    std::string_view contender() const noexcept
    {
        return member(&commands::acquire::contender, &commands::upgrade::contender, &commands::withdraw::contender);
    }

    /// The note of an acquisition or an upgrade.
    std::string_view note() const noexcept { return member(&commands::acquire::note, &commands::upgrade::note); }

    /// The proposed token of an acquisition, a raise or an upgrade. 0: there is none.
    std::uint64_t fence() const noexcept
    {
        return member(&commands::acquire::fence, &commands::raise::fence, &commands::upgrade::fence);
    }

    /// Whether to notify of the next change, for an acquisition or an upgrade that is denied, and for an inspection.
    bool watches() const noexcept
    {
        return member(&commands::acquire::watch, &commands::inspect::watch, &commands::upgrade::watch);
    }

    /// Whether the manager hands the lock on, for an acquisition or a release.
    commands::handovers handed_on() const noexcept
    {
        return member(&commands::acquire::handed_on, &commands::release::handed_on);
    }

    /// Whether the command is an acquisition that grows.
    bool grows() const noexcept { return member(&commands::acquire::grows); }

    /// Whether the command is an acquisition of any one of several keys.
    bool wants_any() const noexcept { return member(&commands::acquire::any); }

    /// Whether the command is an extension that sets missing keys.
    bool heals() const noexcept { return member(&commands::extend::heal); }

    /// Whether the command may set a key to the value after a release of the value.
    bool may_set_again() const noexcept { return heals() || grows() || which() == kind::replace; }

    /// Whether the command may prolong the life of a key that the lock has.
    bool prolongs() const noexcept
    {
        return which() == kind::extend || which() == kind::upgrade || which() == kind::replace;
    }

    /// Whether the command contends. Such a command asks whether the node has lately denied the same key to others. If
    /// the command itself is denied, it also asks for how long.
    bool contends() const noexcept { return !contender().empty(); }

    /// Whether all members are equal; keys by their text.
    friend bool operator==(node_command const&, node_command const&) = default;

private:
    // The member of the command that is there.
    template <class T, class... Commands>
    T member(T Commands::*... which) const noexcept
    {
        T result{};
        auto const read = [&](auto const* there, auto of) {
            if (there != nullptr)
                result = there->*of;
        };
        (read(std::get_if<Commands>(&what), which), ...);
        return result;
    }
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
