#pragma once

#include <redlock/mode.hpp>
#include <redlock/report.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace redlock {

/// For `acquire_options::wait`: wait until the lock is acquired, or the call is cancelled.
inline constexpr std::chrono::milliseconds wait_forever = std::chrono::milliseconds::max();

/// Whether the manager extends a lock while it is held.
enum class renewal : std::uint8_t {
    none,       ///< The lock expires after its ttl, unless `lock::async_extend` is called.
    automatic,  ///< The manager extends it at about a third of its ttl, until released, lost or `max_hold` is over.
};

/// How to acquire a lock. An aggregate: `{.ttl = 5s, .wait = 2s}`. The manager checks it before it sends anything.
struct acquire_options {
    /// The time to live (TTL): how long the servers keep the lock if nobody extends it. From 20 ms to
    /// `config::max_ttl`, and longer than `config::node_timeout`.
    std::chrono::milliseconds ttl{10'000};

    /** How long the manager starts new rounds, counted from the call: 0 to 100 years, or @ref wait_forever. Zero: one
        round, which wins or fails at once.

        The operation takes at most `wait`, plus
        - `config::node_timeout`, or a store's longer timeout, for the last round;
        - `config::connect_timeout` + `node_timeout`, as long as the manager has never been connected to a majority;
        - with `config::fencing`, in place of the first: 2 * (nodes - quorum + 2) * `node_timeout`. The last round may
          need a second one to draw its token. Where another client was ahead, it is repeated at once: at most once for
          each node beyond the quorum, and once more. */
    std::chrono::milliseconds wait{0};

    /// Whether the manager renews the lock.
    redlock::renewal renew = renewal::none;

    /// The lock is lost this long after the start of the acquisition, even if it was extended: 20 ms to 100 years.
    /// Zero: no limit.
    std::chrono::milliseconds max_hold{0};

    /** Exclusive, or shared between readers (a read/write lock).

        @ref mode::shared : any number of readers hold the lock at the same time, and no writer. One resource only.
        Neither readers nor writers starve:
        - In one manager, waiters are granted in phases: all readers that wait, then all writers that wait by then, one
          after the other, and so on. A reader or writer that comes when a phase of its kind has begun joins the next
          phase of its kind, if others wait.
        - A reader does not pass a writer that waits in another manager, unless a writer held the lock meanwhile.

        A reader may join a lock that the manager already shares, without asking the nodes. It then has the same token
        and the same loss. All readers that waited by then may join, and up to `config::max_handovers` later ones.
        Conditions:
        - at least half of the reader's `ttl` is left, and its `renew` is the same;
        - neither has a `max_hold`;
        - the lock is not being upgraded, and was not upgraded, downgraded or resumed: the reader could not upgrade it.

        @ref mode::upgradeable : a reader that also holds a second lock, the right to wait in `lock::async_upgrade`. One
        reader at a time has it. Acquiring it takes two rounds, counts as two acquisitions in @ref stats, and joins no
        other reader. It takes at most twice the time that is added to `wait`. */
    redlock::mode mode = mode::exclusive;

    /// Writers that wait in other managers do not keep this reader out. Not with @ref mode::exclusive. Set it if a
    /// parent process shares the lock and waits for this reader: otherwise the reader waits for the writer, and the
    /// writer for the parent. Leave it off for all other readers, or writers can starve.
    bool passes_writers = false;

    /// The group in whose statistics the acquisition counts (`stats::groups`), such as "checkout": a kind of work, not
    /// a resource. At most 64 bytes, which must live until completion. A manager counts the first 15 groups separately,
    /// and all others together as "other". Empty: no group.
    std::string_view group{};

    /// If not null, filled just before completion. It must live until then.
    attempt_report* report = nullptr;
};

}  // namespace redlock
