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

namespace redlock::inline v0::quorum {

/** Sees every release through, also those that nobody waits for: until the node confirms that the key is
    gone, or it must have expired by itself.

    Releases that cannot be sent wait in their node; those that failed wait here for their next try.
*/
class cleaner final : private answer_listener, private surplus_listener {
public:
    /// @param settled is called when a release needs no more care
    /// @param deleted is called when a node has deleted a key of ours: it tells others of that, and not us
    cleaner(quorum_state&, runtime::event_log&, std::function<void()> settled,
            std::function<void(std::size_t node, std::string const& key)> deleted);

    /// Prepares to release, on every node that may have them, the keys of a grant.
    /// @p ttl is the longest time to live that they were ever given. The caller must send or gather the round.
    std::shared_ptr<round> make_release(std::shared_ptr<grant>, std::chrono::milliseconds ttl);

    /// The same, sent without waiting: at once, or when the keys need not stay any longer. Of those that stay nobody
    /// waits for the release; if this ends before, they run out by themselves.
    void clean_up(std::shared_ptr<grant>, std::chrono::milliseconds ttl);

    /// Gives back what an acquisition that grows does not keep: on each node the keys from number @p kept on, if it has
    /// more, of which
    /// @p ours tells. Seen through by the release that ends it all.
    void trim(std::shared_ptr<grant>, std::span<std::size_t const> ours, std::size_t kept,
              std::chrono::milliseconds ttl);

    /// Of an acquisition that wants any of several, when it is decided: gives back what nodes have chosen in vain, or
    /// will yet.
    void settle(round& decided) { decided.settle(*this); }

    /// Releases that are not confirmed yet, but for those whose time has not come. Any thread.
    std::size_t pending() const noexcept { return pending_.load(std::memory_order_relaxed); }

    /// Gives up.
    void stop();

private:
    void answered(ballot&) override;
    void try_later(ballot&, clock::time_point now, clock::time_point at);
    void chose_in_vain(ballot const&) override;
    void call_at(clock::time_point, std::function<void()>);
    void ring();

    quorum_state& quorum_;
    runtime::event_log& log_;
    std::function<void()> const settled_;
    std::function<void(std::size_t, std::string const&)> const deleted_;
    std::atomic<std::size_t> pending_{0};
    std::size_t tries_ahead_ = 0;  ///< among the calls
    std::multimap<clock::time_point, std::function<void()>> calls_;
    runtime::alarm alarm_;
};

}  // namespace redlock::quorum
