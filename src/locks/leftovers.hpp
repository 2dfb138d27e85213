#pragma once

#include "locks/acquire_request.hpp"
#include "quorum/round.hpp"

#include <memory>

namespace redlock::inline v0::locks {

/// What the rounds of an acquisition may have left on the nodes: it keeps some of it, or gives it back.
class leftovers {
public:
    /// @param r must outlive this
    explicit leftovers(acquire_request const& r) : request_(r) {}

    /// @p next is about to be sent.
    void may_be_left_by(quorum::round const& next) noexcept
    {
        unsettled_ = true;
        noted_ = noted_ || next.command.contends();
    }

    /// The keys are those of a lock that was won.
    void are_won() noexcept
    {
        unsettled_ = false;
        growing_.reset();
    }

    /// Whether the latest round may have set keys, and nobody sees to them yet.
    bool unsettled() const noexcept { return unsettled_; }

    /// A set keeps from now on what its rounds get, until the clean-up.
    void grow();
    std::shared_ptr<quorum::grant> const& growing() const noexcept { return growing_; }  ///< null: it does not grow

    /// The round was @p lost: gives back what it may have set, or, of a set that grows, what is not kept.
    void round_was_in_vain(quorum::round& lost);

    /// What a quorum of the nodes has kept for a set stays; the rest goes back. It is called again when late nodes may
    /// have answered.
    void keep_what_is_ours(quorum::round& lost);

    /// Gives all back; @p latest is the latest round.
    void clean_up(quorum::round const& latest);

    /// It waits no longer: withdraws the wishes that the nodes may have noted.
    void withdraw_wishes() const;

private:
    acquire_request const& request_;
    std::shared_ptr<quorum::grant> growing_;
    bool unsettled_ = false;
    bool noted_ = false;  ///< nodes may have noted that this manager wants it
};

}  // namespace redlock::locks
