#pragma once

#include <redlock/node.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace redlock::inline v1::testing {

/// A kind of nodes: the subject of @ref node_cases .
struct node_kind {
    /// Makes a node that is not started. All nodes lead to the same server; each is a separate client.
    std::function<std::shared_ptr<node>()> make{};

    /// The prefix of all keys. Each case uses a new key, and leaves only counters and tombstones.
    std::string prefix = "lock:";

    // Every node grants, denies, extends, releases and inspects. These flags tell what else it can do; cases about the
    // rest are left out. A node that cannot draw tokens or lock several keys must refuse them by `node::can`.
    bool fences = true;    ///< Whether it draws fencing tokens.
    bool heals = true;     ///< Whether it sets a key again that it has forgotten, and keeps tombstones against that.
    bool contends = true;  ///< Whether it says for how long an acquisition is denied, and that others want the lock.
    bool locks_several = true;  ///< Whether it locks several keys in one step.
    bool locks_any = true;      ///< Whether it locks any one of several keys in one step.
    bool shares = true;         ///< Whether it lets a key be shared.
    bool upgrades = true;       ///< Whether it lets the only reader of a key hold it exclusively, and share it again.
    bool replaces = true;       ///< Whether it replaces the value of a key: see `commands::replace`.
};

/// One thing that a node must do.
struct node_case {
    /// The requirement, in words, such as "an acquisition of a free key is granted".
    std::string_view name;

    /// Whether @p kind can do what the case tests.
    bool (*concerns)(node_kind const& kind);

    /// Runs the case in its own event loop, and returns when it has ended. Some cases wait for less than a second until
    /// a key expires. One case acquires a lock some thousand times.
    /// @throws std::runtime_error if the node does not do what the case expects; the message tells what that is
    void (*run)(node_kind const& kind);
};

/// All cases, which exist as long as the program. To test your node, run each case, in any order, with any test
/// framework. The contract is in `node.hpp`, `node_command.hpp` and `node_reply.hpp`.
std::span<node_case const> node_cases();

}  // namespace redlock::testing
