#pragma once

#include <redlock/mode.hpp>
#include <redlock/report.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace redlock {

/// For `acquire_options::wait`: try until acquired or cancelled.
inline constexpr std::chrono::milliseconds wait_forever = std::chrono::milliseconds::max();

/// Whether a lock is extended by the manager while it is held.
enum class renewal : std::uint8_t {
    none,       ///< It runs out after its ttl, unless `lock::async_extend` is called.
    automatic,  ///< It is extended at about a third of its ttl until released, lost or `max_hold` is over.
};

/// How to acquire. An aggregate: `{.ttl = 5s, .wait = 2s}`. Checked before anything is sent.
struct acquire_options {
    /// For how long the servers keep the lock if nobody extends it: 20 ms to `config::max_ttl`,
    /// and longer than `config::node_timeout`.
    std::chrono::milliseconds ttl{10'000};

    /// For how long new rounds are started, counted from the call. Zero: one round, win or fail at once.
    /// The operation takes at most `wait` plus `config::node_timeout`. As long as the manager has never been connected to a
    /// majority, `config::connect_timeout` and another `node_timeout` come on top. With `config::fencing` the last round may
    /// need a second one to draw its token, and is repeated at once where another client was ahead, at most once for each node
    /// beyond the quorum and once more: in all 2 * (nodes - quorum + 2) * `node_timeout` after `wait`. Up to 100 years, or
    /// @ref wait_forever: until cancelled.
    std::chrono::milliseconds wait{0};

    redlock::renewal renew = renewal::none;

    /// The lock is lost this long after the acquisition began, however often it was extended: 20 ms to 100 years. Zero: no limit.
    std::chrono::milliseconds max_hold{0};

    /// With @ref mode::shared others may hold the lock at the same time, if they share it, too. One resource only. Those who wait in one
    /// manager come in phases: all who wait to share it together, then all who wait by then to have it alone one after the other, and so
    /// on; who comes when a phase of its kind has begun and others wait comes in the next one. So neither starves. Who comes to share it
    /// passes nobody who waits in another manager to have it alone, unless somebody had it alone meanwhile.
    ///
    /// What the manager shares already is given to all who waited for it by then, and to up to `config::max_handovers` who come later,
    /// without asking the nodes, if at least half of their `ttl` is left of it, and `renew` is the same; not to those with a `max_hold`. What was
    /// downgraded or resumed is given to nobody else: it cannot be upgraded.
    /// They have the same token, and the same loss.
    ///
    /// @ref mode::upgradeable is a reader, too, and has a second lock besides, which one has at a time: the right to wait for `lock::async_upgrade`. It takes
    /// two rounds, counts as two in @ref stats, and does not join. It takes at most twice what `wait` adds to itself.
    redlock::mode mode = mode::exclusive;

    /// As what it counts in `stats::groups`, such as "checkout": a kind of work, not a resource. At most 64 bytes, which must live until
    /// completion. The first 15 that a manager hears of count by themselves, all others together as "other". Empty: as none.
    std::string_view group{};

    /// Filled just before completion when not null; must live until then.
    attempt_report* report = nullptr;
};

}  // namespace redlock
