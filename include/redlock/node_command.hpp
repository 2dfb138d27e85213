#pragma once

#include <redlock/mode.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace redlock::inline v1 {

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

}  // namespace redlock
