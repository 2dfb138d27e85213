#pragma once

#include <redlock/detail/recycler.hpp>
#include <redlock/error.hpp>
#include <redlock/report.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace redlock::inline v1 {

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

}  // namespace redlock
