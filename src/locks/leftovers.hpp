#pragma once

#include "locks/acquire_request.hpp"
#include "quorum/round.hpp"

#include <memory>

namespace redlock::inline v1::locks {

/// The keys that an acquisition's rounds may have left on the nodes: keeps some, and releases the others.
class leftovers {
public:
    /// @param r must outlive this
    explicit leftovers(acquire_request const& r) : request_(r) {}

    /// Call this before @p next is sent.
    void may_be_left_by(quorum::round const& next) noexcept
    {
        unsettled_ = true;
        noted_ = noted_ || next.command.contends();
    }

    /// Call this when the keys belong to a lock that was won.
    void are_won() noexcept
    {
        unsettled_ = false;
        growing_.reset();
    }

    /// Whether the latest round may have set keys that nobody cleans up yet.
    bool unsettled() const noexcept { return unsettled_; }

    /// From now on, a set keeps the keys that its rounds get, until the clean-up.
    void grow();
    std::shared_ptr<quorum::grant> const& growing() const noexcept { return growing_; }  ///< null: it does not grow

    /// Call this after a round was @p lost. It releases the keys that the round may have set; a set that grows keeps
    /// some.
    void round_was_lost(quorum::round& lost);

    /// A set that grows keeps the keys that a quorum has for it, and releases the others. Call this again when late
    /// votes may have arrived.
    void keep_what_is_ours(quorum::round& lost);

    /// Releases all keys; @p latest is the latest round.
    void clean_up(quorum::round const& latest);

    /// Call this when the acquisition stops waiting: withdraws the wishes that the nodes may have noted.
    void withdraw_wishes() const;

private:
    acquire_request const& request_;
    std::shared_ptr<quorum::grant> growing_;
    bool unsettled_ = false;
    bool noted_ = false;  ///< nodes may have noted a wish
};

}  // namespace redlock::locks
