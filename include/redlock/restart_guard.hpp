#pragma once

#include <cstdint>

namespace redlock {

/// What is done about nodes that have restarted, and may have forgotten locks that are still valid. See docs/fencing.md.
enum class restart_guard : std::uint8_t {
    /** A node without a durable log does not vote before it is `config::max_ttl` old, if this manager has seen it restart, or
        unless a majority of the nodes is as young: then the whole set is taken for newly started. */
    automatic,
    /// No node votes before it is `config::max_ttl` old or has a durable log. For correctness after a power cut of all.
    strict,
    /// Every node votes at once. Two may hold a lock after a restart.
    off,
};

}  // namespace redlock
