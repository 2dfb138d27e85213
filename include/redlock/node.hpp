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

/// One of several keys that are wanted together, and that is not to be had now.
struct taken_key {
    std::uint32_t index = 0;                ///< among those of the command
    std::chrono::milliseconds remaining{};  ///< as in a reply about one key
    bool handed_on = false;                 ///< likewise

    friend bool operator==(taken_key const&, taken_key const&) = default;
};

/// A node's answer to one operation.
struct node_reply {
    /// acquire: set, or taken. extend: extended, or not ours any more. release: deleted, or not there. Of several keys: all of them.
    /// inspect: locked, or free.
    redlock::vote vote = vote::unknown;
    /// An unknown vote only: it is certain that the node did not and will not carry the operation out.
    bool untouched = false;
    /// Why the vote is unknown. `errc::quarantined`: it was carried out and would be granted, but the part of the node that has the key may
    /// have forgotten others'. A node that is quarantined as a whole grants, and says so by its @ref server_identity.
    error_code error{};
    /// An unknown vote: the server's own words, without secrets. A granted inspection: the value of the key.
    std::string text{};
    /// A granted inspection, and a denied acquisition that contends: the key's time to live. Negative: it has no end.
    std::chrono::milliseconds remaining{0};
    /// A granted acquisition or extension: the node may forget the key so long after the command was sent, though it was asked to
    /// keep it for longer, because its own session or lease ends then. The lock is valid for as long as a quorum has promised; zero
    /// and less promise nothing.
    std::chrono::milliseconds good_for = std::chrono::milliseconds::max();
    /// A granted acquisition that proposed a token: what the counter is now, if it has been raised for this grant, to the proposal or
    /// beyond; otherwise 0. Shared: what the counter is; 0: there is none. Raised: the counter.
    std::uint64_t fence = 0;
    bool healed = false;      ///< A denied extension: the key was not there, and has been set.
    bool watched = false;     ///< A denied acquisition that watches: the node will tell of the key's next change.
    /// A denied acquisition that contends: the manager that has the lock hands it on to its own waiters. Then `remaining` and
    /// `watched` are about the end of that, and not about each time that the lock changes hands.
    bool handed_on = false;
    bool wanted = false;      ///< A granted acquisition that contends: others have been denied lately.
    /// A denied acquisition to share the lock: nobody keeps it out who has the lock alone, but somebody who waits for that. Then
    /// `remaining` is how long that wish lasts at the most, and `watched` is about its end, too.
    bool behind_writer = false;

    // Of several keys, and of an upgrade.

    /// A denied acquisition that contends, or that wants any of them: the keys that others have, in their order. `remaining` and `handed_on`
    /// say nothing then.
    std::vector<taken_key, detail::recycler<taken_key>> taken{};
    /// An acquisition that grows: how many keys, from the first on, are held by the value now. A release: how many it has deleted. Of one
    /// key, a denied upgrade: 1 if the value shares it still, and others do; `remaining` is for how long at the most, if nobody extends.
    std::uint32_t ours = 0;
    std::uint32_t chosen = 0;  ///< A granted acquisition of any of several keys: which of them it is.
};

/// What a node asks of its users.
struct node_limits {
    /// The least ttl that it keeps a key for; a lock with less is refused with `errc::invalid_argument`, naming the node.
    std::chrono::milliseconds ttl_min{0};
    /// How long its answers take in bad times, if that is more than `config::node_timeout`: a round waits for the longest, and a lock
    /// needs a longer ttl. At most a minute.
    std::chrono::milliseconds timeout{0};
    /// Whether the keys that it sets end with a session of its own, and are deleted by it. Then no other process can go on with a lock:
    /// `lock::detach` and what takes its tickets are refused with `errc::unsupported`, naming the node.
    bool ends_with_session = false;
};

/// What a node tells without being asked: on its executor, and never from within another call. Both are set.
struct node_events {
    /// There is a new connection, to this server. Comes before the first reply from there.
    std::function<void(server_identity const&)> connected;

    /** A key that it watches has been changed, deleted or has expired; once, then it must be watched again. What is told before the answer
        to an acquisition counts as older than that answer: a change that comes later is told later, too. Or a key that this manager
        has set is gone: then the lock's renewal is tried at once. The end of hand-overs
        has a key of its own, `lock:stock:=turn:{lock:stock}`, and so has that of others' wishes, `lock:stock:=wanted:{lock:stock}`. An empty key: it may have missed changes, because a connection ended.
        A node that never notifies is asked now and then. */
    std::function<void(std::string_view key)> changed;
};

/// The keys of a command, each once: a view. In the order of their bytes; those of which an acquisition wants any, or which are given
/// back after that, in the order in which it prefers them.
struct key_view : std::span<std::string const> {
    using span::span;
    key_view(std::span<std::string const> keys) noexcept : span(keys) {}
    friend bool operator==(key_view a, key_view b) noexcept
    {
        bool const same = a.data() == b.data() && a.size() == b.size();  // those of one round, for all nodes
        return same || std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
};

/// What a node is to do: a value. What it views lives as long as the operation that carries it.
struct node_command {
    enum class kind : std::uint8_t {
        acquire,  ///< Set key to value for ttl unless the key exists: `SET key value NX PX ttl`. If @ref fence is not 0: set
                  ///< the key's counter to it if that is lower, in either case; a counter that grows by itself may go beyond.
                  ///< Several keys: all of them, unless one of them exists; then none, unless it @ref grows; and the counters only if
                  ///< all are set. Or @ref any of them.
        raise,    ///< Set the key's counter to @ref fence if it is lower; then add one. Granted, with the counter. Several keys: set
                  ///< all their counters to one more than the highest of them and @ref fence.
        extend,   ///< If key holds value, raise its time to live to ttl; never shorten it. If it does not exist, and there
                  ///< is no tombstone, and @ref heal: set it. Several keys: all of them, or none.
        release,  ///< If key holds value, delete it: of several keys each that does. Leave a tombstone for ten minutes, for the first
                  ///< key with this value, if @ref node_operation::leaves_tombstone.
        inspect,  ///< Read the key's value and time to live.
        connect,  ///< Get ready for the others: granted once @ref node::ready is true. Nothing is sent for it.
        upgrade,    ///< Of a key that the value shares, and nobody else does: have the key hold the value alone, for ttl at least, and
                    ///< no shorter than it had. Granted, too, if it does already: then raise its time to live. @ref fence as to acquire.
        downgrade,  ///< Of a key that holds the value alone: share it again, for as long as it has to live. Granted, too, if it is shared.
        withdraw,   ///< The contender does not wait any more, for any of the keys: forget that it was denied. Nobody waits for the answer; a
                    ///< node that remembers nobody grants.
    };

    /// Whether the lock goes on to waiters of the same manager. Waiters of others hear of the end of that only.
    enum class handovers : std::uint8_t {
        unsaid,  ///< Nothing changes.
        follow,  ///< Of an acquisition that contends: more waiters follow.
        end,     ///< No more do.
    };

    kind what = kind::connect;
    /// Of one key. Shared: the key holds the word `:=shared` as long as anybody shares it, and a list beside it the values of those who
    /// do, each until its ttl is over; the key lives as long as the longest. To acquire is to enter the list, unless somebody has the key
    /// alone, or waits for that; to extend, to heal and to release are about the value's place in the list; the last to leave deletes
    /// the key. A value that has the key alone may be extended and released like this, too.
    redlock::mode mode = mode::exclusive;
    bool passes = false;         ///< Of a shared acquisition: those who wait to have the key alone do not keep it out.
    handovers handed_on = handovers::unsaid;
    bool heal = false;           ///< Of an extension: see there.
    /// Of the extension of a shared lock: it has been upgraded. Where the value is one of those that share the key it is extended, but not
    /// granted; where the key is missing it is set to the value alone.
    bool alone = false;
    bool watch = false;          ///< Of an acquisition that contends and is denied: notify of the next change of each key that is taken.
    /// Of an acquisition of several keys that contends: those from the first on, up to one that is taken, are set, or, if they hold
    /// the value from before, have their time to live raised; unless there is a tombstone. Granted if that is all of them.
    bool grows = false;
    /// Of an acquisition of several keys: the first of them that does not exist is set, and only its counter. Denied if all exist.
    bool any = false;
    key_view keys{};             ///< One of an inspection, one or several of the others; nothing to connect.
    std::string_view value{};
    std::string_view contender{};  ///< Of an acquisition, an upgrade or a withdrawal: who asks, the same for all of one manager; empty: it does not contend.
    std::chrono::milliseconds ttl{0};
    /// To acquire or raise with fencing: the token that is proposed. Otherwise 0. Who shares a lock raises nothing for itself: a granted
    /// acquisition answers with the counter as it is, and to raise is to set it to this if it is lower, and no more.
    std::uint64_t fence = 0;

    /// The first.
    std::string const& key() const noexcept { return keys.front(); }

    bool has_several_keys() const noexcept { return keys.size() > 1; }
    bool is_shared() const noexcept { return mode == redlock::mode::shared; }

    /// Whether it may set a key that the value has held before.
    bool may_set_again() const noexcept { return heal || grows; }

    /// Whether it may prolong the life of a key that the value has.
    bool prolongs() const noexcept { return what == kind::extend || what == kind::upgrade; }

    /// Whether an acquisition asks if others have been denied the same key lately, and for how long it is denied itself.
    bool contends() const noexcept { return !contender.empty(); }

    friend bool operator==(node_command const&, node_command const&) = default;
};

/** One command to one node, and who waits for its reply.

    The manager owns it together with the node, waits for it, and may lose interest at any moment; the node
    carries it out or refuses. Everything happens on the executor that the node was started on.
*/
class REDLOCK_API node_operation {
public:
    virtual ~node_operation() = default;

    /// The same from @ref node::submit on, and as long as the operation lives.
    virtual node_command const& command() const noexcept = 0;

    clock::time_point not_after;  ///< The node must not send it later than this.

    /// Whether nobody wants it sent any more. A node asks right before sending.
    virtual bool withdrawn() const noexcept = 0;

    /// A node calls this before the first byte may leave. @p connection is not 0 and differs after a reconnection.
    virtual void mark_sent(std::uint32_t connection) noexcept = 0;

    /// Which connection it may have been sent on; 0: it was never handed to one.
    virtual std::uint32_t sent_on() const noexcept = 0;

    /// Of a release: the first connection on which a request to set the key to the value is unanswered. 0: there is none.
    virtual std::uint32_t unanswered_on() const noexcept = 0;

    /// Whether a release that is sent on @p connection leaves a tombstone: that request may be carried out after it.
    bool leaves_tombstone(std::uint32_t connection) const noexcept
    {
        auto const unanswered = unanswered_on();
        return unanswered != 0 && unanswered != connection;
    }

    /// A node calls this exactly once, never from within @ref node::submit.
    virtual void complete(node_reply reply) = 0;
};

/** One lock server. Implement it to lock on something that is not Redis; the manager's own tests do.

    An operation that was marked as sent and whose answer gets lost completes with `vote::unknown` and without
    `untouched`; it is never sent a second time. Operations that were sent on one connection are carried
    out in their order.
*/
class REDLOCK_API node {
public:
    virtual ~node() = default;

    /// The address for people: without user and password. Constant.
    virtual std::string const& name() const noexcept = 0;

    /// Whether an operation submitted now would be sent now. Callable from any thread.
    virtual bool ready() const noexcept = 0;

    /// Called once, before @ref start.
    virtual node_limits limits() const { return {}; }

    /// Whether it knows how to carry out commands such as @p command, whose keys are examples. It is asked once, before @ref start, about
    /// what is more than a plain lock: about raising a counter, if `config::fencing` needs that, about several keys, all of them and any, about
    /// sharing and upgrades. What it cannot do the manager refuses with `errc::unsupported`, naming the node, before anything is sent.
    virtual bool can(node_command const& command) const noexcept { return !command.has_several_keys() && !command.is_shared(); }

    /// Whether it notifies of changes to keys that are watched. Callable from any thread.
    virtual bool notifies() const noexcept { return false; }

    /// Whether the server may still execute what was sent on @p connection, which is not the latest: it has ended, or others do its work.
    /// Called on the executor.
    virtual bool may_still_execute(std::uint32_t connection) const
    {
        static_cast<void>(connection);
        return true;
    }

    /// Called once, before @ref submit. Nothing runs on @p executor at the same time as anything else does. It does not
    /// keep its context running: a node that answers from elsewhere needs a work guard of the context itself.
    virtual void start(asio::any_io_executor executor, node_events events) = 0;

    /// Takes an operation. It is kept until it can be sent or its time is over.
    virtual void submit(std::shared_ptr<node_operation> operation) = 0;

    /// Called once. Ends the connection and completes what is pending; nothing is submitted afterwards.
    virtual void close() = 0;

    /// Called instead of @ref close when the execution context is being destroyed: let go of what refers to it.
    /// No operation needs to be completed, and nothing may be started on the executor any more.
    virtual void abandon() { close(); }
};

}  // namespace redlock
