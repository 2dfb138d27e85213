#pragma once

#include <cstdint>

namespace redlock::inline v0 {

/// The treatment of nodes that have restarted, and may have forgotten locks that are still valid. See docs/fencing.md.
enum class restart_guard : std::uint8_t {
    /** A node without a durable log does not vote before it is `config::max_ttl` old. There is one exception: a set of
        nodes that is young as a whole is taken for newly started. The conditions are that a majority is known to be
        young, and that no node is known to be older, or in the place of an earlier one. */
    automatic,
    /** Every node votes only when it is `config::max_ttl` old, or has a durable log. Use it where two holders must
        never happen: after a power cut or a rolling restart of all nodes, and in short-lived processes. */
    strict,
    /// Every node votes at once. After a restart, two clients may hold one lock.
    off,
};

}  // namespace redlock
