#pragma once

#include <redlock/node.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace redlock::inline v0::testing {

/// A kind of nodes, as @ref node_cases needs it.
struct node_kind {
    /// Makes a node that is not started yet. All of them lead to the same server; each is a client of its own.
    std::function<std::shared_ptr<node>()> make{};

    /// What keys begin with. Each case takes a key that was never used before, and leaves nothing there but counters
    /// and tombstones.
    std::string prefix = "lock:";

    // What it can do besides to grant, deny, extend, release and inspect. The cases about the rest are not run; but
    // what it refuses by `node::can` it must refuse: tokens, and several keys.
    bool fences = true;         ///< It draws fencing tokens.
    bool heals = true;          ///< It sets a key again that it has forgotten, and keeps tombstones against that.
    bool contends = true;       ///< It says for how long an acquisition is denied, and whether others want the lock.
    bool locks_several = true;  ///< It locks several keys in one step.
    bool locks_any = true;      ///< It locks any one of several keys in one step.
    bool shares = true;         ///< It lets a key be shared.
    bool upgrades = true;       ///< Of a key that is shared: it lets the only one who does have it alone, and share it
                                ///< again.
};

/// One thing that a node must do.
struct node_case {
    std::string_view name;

    /// Whether it is about something that @p kind can do.
    bool (*concerns)(node_kind const& kind);

    /// Plays it, in an event loop of its own. Some cases wait for a key to expire, for less than a second. One case
    /// acquires a lock some thousand times.
    /// @throws std::runtime_error saying what was expected of a node and did not happen
    void (*run)(node_kind const& kind);
};

/// All of them. For nodes of your own: run each, in any order, with any test framework. What they demand is what
/// `node.hpp` says.
std::span<node_case const> node_cases();

}  // namespace redlock::testing
