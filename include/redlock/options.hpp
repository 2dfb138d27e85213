#pragma once

#include <redlock/mode.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

namespace redlock::inline v1 {

/// The value of `acquire_options::wait` with which a call waits until it has the lock, or is cancelled.
inline constexpr std::chrono::milliseconds wait_forever = std::chrono::milliseconds::max();

/// Whether the manager extends a lock while it is held.
enum class renewal : std::uint8_t {
    none,       ///< The lock expires after its ttl, unless `lock::async_extend` is called.
    automatic,  ///< The manager extends it at about a third of its ttl, until released, lost or `max_hold` is over.
    /// The default: `automatic` while a body runs (`with_lock`), because the body ends; `none` for a handle, because
    /// the manager would renew a handle that the program forgot to release for ever.
    unset,
};

/** How to acquire a lock: an aggregate, such as `{.ttl = 5s, .wait = 2s}`. The manager checks it before it sends
    anything.

    The options name texts and a context. A function that takes them copies these before it returns. So they may be
    temporary: `{.note = "order " + id}`. */
struct acquire_options {
    /// The time to live (TTL): how long the servers keep the lock if nobody extends it. From 20 ms to
    /// `manager_options::max_ttl`, and longer than `manager_options::node_timeout`.
    std::chrono::milliseconds ttl{10'000};

    /** The time for which the manager keeps trying, that is, starts new rounds. It counts from the call: 0 to 100
        years, or @ref wait_forever. Zero: one round, which wins or fails at once.

        The operation takes at most `wait`, plus
        - for the last round, `manager_options::node_timeout`, or a store's longer timeout;
        - `manager_options::connect_timeout` + `node_timeout`, as long as the manager has never been connected to a
          majority;
        - 2 * `node_timeout`, or a store's longer timeout each time, if all servers are new to the prefix, so that the
          manager founds their set.

        With `manager_options::fencing`, the last round may take up to 2 * (nodes - quorum + 2) * `node_timeout` instead
        of `node_timeout`: it may need a second round to draw its token. If another client was ahead in this, the
        manager repeats both rounds at once, up to nodes - quorum + 1 times. */
    std::chrono::milliseconds wait{0};

    /// Whether the manager renews the lock. By default, it does so while a body runs, but not for a handle. A body that
    /// hangs keeps its lock: `max_hold` limits that.
    redlock::renewal renew = renewal::unset;

    /// The longest time to hold the lock, from the start of the acquisition: 20 ms to 100 years. Then the lock is lost,
    /// even if it was extended. Zero: no limit.
    std::chrono::milliseconds max_hold{0};

    /** The mode of the lock: exclusive, or shared between readers (a read/write lock).

        @ref mode::shared : any number of readers hold the lock at the same time, and no writer. One resource only.
        Neither readers nor writers starve:
        - One manager serves its waiters in phases. In a phase of readers, all readers that wait get the lock
          together. In the next phase, all writers that wait by then get it, one after the other. Then readers follow
          again, and so on. If writers wait, a reader that comes during a phase of readers waits for the next phase of
          readers. If readers wait, a writer that comes during a phase of writers waits for the next phase of writers.
        - A reader does not pass a writer that waits in another manager, unless a writer has held the lock since the
          reader began to wait.

        A reader may join a lock that the manager already shares, without a request to the nodes. It then has the same
        token, and loses the lock at the same time. All readers whose call came before the first reader's round may
        join. Up to 16 later readers may join, too. Conditions:
        - the lock is valid for at least half of the reader's `ttl`, and its `renew` is the same as the reader's;
        - neither the lock nor the reader has a `max_hold`;
        - the lock is not being upgraded, and was not upgraded, downgraded or resumed. Otherwise the reader could not
          upgrade it.

        @ref mode::upgradeable : a reader that also holds a second lock, the right to wait in `lock::async_upgrade`. One
        reader at a time has this right. Such an acquisition takes two rounds, counts as two acquisitions in @ref stats,
        and joins no other reader. For it, double the times that are added to `wait`. */
    redlock::mode mode = mode::exclusive;

    /// Whether this reader passes writers that wait in other managers. Not allowed with @ref mode::exclusive. Set it
    /// if a parent process holds the shared lock and waits for this reader. Otherwise the reader waits for the writer,
    /// and the writer for the parent: a deadlock. Leave it off for all other readers, or writers can starve.
    bool passes_writers = false;

    /// Whether another process may take the lock over with its ticket (`lock_manager::async_resume`) while this process
    /// still holds it, as when this process does not answer. If this process then loses the lock, or gives it back when
    /// its validity is over, it leaves the keys alone: they may be those of the other process. They expire by
    /// themselves.
    bool may_be_resumed = false;

    /// The group in whose statistics the acquisition counts (`stats::groups`), such as "checkout": a kind of work, not
    /// a resource. At most 64 bytes. A manager counts the first 64 groups separately, and all others together as
    /// "other". Empty: no group.
    std::string_view group{};

    /// A context for the observer, which receives a copy of the shared pointer with the beginning of the acquisition:
    /// `events::acquisition_begun::context`. Null: none. The library does not read what the shared pointer points to.
    /// For traces: `redlock::current_span()`.
    std::shared_ptr<void const> const* context = nullptr;

    /// Whether the lock has a report of its acquisition, `lock::report`: after a success, an error and a cancellation.
    /// A @ref lock_error has a report in any case.
    bool explain = false;

    /** The purpose of the hold, for people who look at the lock: a job, a URL, a request id, such as "nightly report".
        Valid UTF-8 without control characters, at most 200 bytes. Empty: none.

        The note is a part of the lock's value on the servers. Everybody who may read the keys can read it, so it must
        not contain secrets. `lock_manager::async_inspect` returns it, and the command `redlock status` shows it. The
        message of another client that waited in vain contains it, if a node has told it. A reader that joins a lock
        which the manager already shares leaves no note. A resumed lock keeps the note with which it was acquired. */
    std::string_view note{};

    /// The label of the holder, for a process that acquires locks for others. It takes the place of
    /// `manager_options::owner` in the lock's value, but not in events, and not in the lists of clients that wait.
    /// Valid UTF-8 without control characters, at most 256 bytes. Empty: `manager_options::owner`.
    std::string_view owner{};

    /// A number that stands for a request which several processes may get. If one of them meets a lock that another one
    /// has acquired for this request, it recognises it: the number is the first 16 digits of `lock::token`, in
    /// hexadecimal. The other 16 digits are random. Derive the number with a secret, because whoever knows it knows
    /// half of the token's digits. Zero: all digits are random.
    std::uint64_t request = 0;

    /** For `lock_manager::async_resume`: the token that the lock gets in place of the ticket's. Then this process alone
        can extend and release the lock. The previous holder loses it at its next extension, and its late requests
        change nothing. Until then it is not told: as long as its validity lasts, it may still work. The ticket is void.
        Use this if the previous holder may still run.

        1 to 512 bytes that nobody can guess. The form is up to you: keep that of `lock::token`, whose first 32
        characters are random digits, if `lock_manager::async_inspect` shall show the label and the note. No other lock
        may ever have had it. If the call fails because too few nodes answered, repeat it with the same token: some
        nodes may have it already. Empty: the lock keeps its token. Other calls return `errc::invalid_argument`. */
    std::string_view new_token{};
};

/// How to stop a manager: the argument of `lock_manager::async_shutdown`. An aggregate.
struct shutdown_options {
    /// Whether it is an error if keys could not be released in time: @ref errc::keys_left.
    /// `events::keys_left` and the log have their number.
    bool keys_left_is_error = false;
};

/// The options of `lock_manager::async_list`. The text that they name is copied before the call returns.
struct list_options {
    /// The page ends when it has this many locks: 1 to 1000. It may have a few more, because nodes return several keys
    /// at once.
    std::size_t page_size = 100;
    /// The place where the page begins: `lock_page::next` of another page. Empty: the first page.
    std::string_view from{};
};

// g++ 12 destroys a temporary aggregate with a destructor twice within a co_await. Therefore options have views.
static_assert(std::is_trivially_destructible_v<acquire_options> && std::is_trivially_destructible_v<shutdown_options>
              && std::is_trivially_destructible_v<list_options>);

}  // namespace redlock
