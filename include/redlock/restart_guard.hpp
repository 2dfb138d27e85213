#pragma once

#include <cstdint>

namespace redlock {

/// What is done about nodes that have restarted, and may have forgotten locks that are still valid. See docs/fencing.md.
enum class restart_guard : std::uint8_t {
    /** A node without a durable log does not vote before it is `config::max_ttl` old. There is one exception: a set that is
        young as a whole is taken for newly started. Then a majority is known to be young, no node is known to be older, and
        this manager has not seen the node restart. */
    automatic,
    /** No node votes before it is `config::max_ttl` old or has a durable log. Use it where two holders must not be: after a
        power cut or a rolling restart of all nodes, and in processes that are short-lived. */
    strict,
    /// Every node votes at once. Two may hold a lock after a restart.
    off,
};

}  // namespace redlock
