#pragma once

#include "quorum/round.hpp"

#include <redlock/clock.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>

namespace redlock::inline v1::quorum {

/** Repeats every release until the node confirms that the key is gone, or until the key must have expired.

    A release that cannot be sent waits in its node. A release that failed waits here for its next attempt.
*/
class cleaner final : private answer_listener, private surplus_listener {
public:
    /// @param settled The cleaner calls it when a release needs no further attempts.
    /// @param deleted The cleaner calls it when a node has deleted one of our keys. The server does not notify the
    /// client that deletes a key, so the manager's own waiters hear of it only here.
    cleaner(quorum_state&, events::event_log&, std::function<void()> settled,
            std::function<void(std::size_t node, std::string const& key)> deleted);

    /// Prepares the release of a grant's keys on every node that may have them. @p ttl is the longest time to live that
    /// these keys ever had. The caller must send or gather the round.
    std::shared_ptr<round> make_release(std::shared_ptr<grant>, std::chrono::milliseconds ttl);

    /// Releases the keys without waiting: now, or at `grant::stays_until`. A shutdown does not wait for keys that stay;
    /// they then expire.
    void clean_up(std::shared_ptr<grant>, std::chrono::milliseconds ttl);

    /// Releases the keys that a growing acquisition does not keep: on each node the keys from index @p kept on.
    /// @p ours says how many keys each node has set. Nodes with at most @p kept keys are skipped. The final release
    /// covers trims that were lost.
    void trim(std::shared_ptr<grant>, std::span<std::size_t const> ours, std::size_t kept,
              std::chrono::milliseconds ttl);

    /// Call it when an acquisition of any one of several keys is decided. Releases the keys that nodes have chosen in
    /// vain, or will choose later.
    void settle(round& decided) { decided.choice.settle(decided, *this); }

    /// The releases that are not confirmed yet, without those that wait for `grant::stays_until`. Any thread.
    std::size_t pending() const noexcept { return pending_.load(std::memory_order_relaxed); }

    /// Drops all attempts that are not sent yet, and the releases that wait for `grant::stays_until`.
    void stop();

private:
    void answered(ballot&) override;
    void try_later(ballot&, clock::time_point now, clock::time_point at);
    void chose_in_vain(ballot const&) override;
    void call_at(clock::time_point, std::function<void()>);
    void ring();

    quorum_state& quorum_;
    events::event_log& log_;
    std::function<void()> const settled_;
    std::function<void(std::size_t, std::string const&)> const deleted_;
    std::atomic<std::size_t> pending_{0};
    std::size_t tries_ahead_ = 0;  ///< attempts that wait in @ref calls_
    std::multimap<clock::time_point, std::function<void()>> calls_;
    runtime::alarm alarm_;
};

}  // namespace redlock::quorum
