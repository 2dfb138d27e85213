#pragma once

#include "core/quorum.hpp"
#include "quorum/ballot_set.hpp"

#include <memory>

namespace redlock::inline v1::quorum {

/// Releases keys that nodes chose in vain, for an acquisition of any one of several keys.
class surplus_listener {
public:
    /// The node has chosen a key that is not needed, or may have chosen one.
    virtual void chose_in_vain(ballot const&) = 0;

protected:
    ~surplus_listener() = default;
};

/// Counts the vote of one more node. For an acquisition of any one of several keys, only the grants of the key that
/// most nodes have chosen count.
void count(ballot_set&, vote);

/// For an acquisition of any one of several keys: the key that was won, and the keys that nodes chose in vain.
class choice {
public:
    /// Call it when the round is decided. If it is won, the round is from then on about the key that a quorum has
    /// chosen. Nodes that chose another key then count as denied. If it is lost, all choices are in vain. @p surplus
    /// gets the nodes that chose in vain, late ones included.
    void settle(ballot_set&, surplus_listener& surplus);

    /// A node has answered. After @ref settle, it may have chosen in vain.
    void answered(ballot_set const&, ballot&);

private:
    std::shared_ptr<grant> asked_for_;     ///< the keys that the command views; null until one of them is won
    surplus_listener* surplus_ = nullptr;  ///< set by @ref settle
};

}  // namespace redlock::quorum
