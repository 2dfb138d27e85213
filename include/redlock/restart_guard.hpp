#pragma once

#include <cstdint>

namespace redlock::inline v1 {

/// The treatment of nodes that may have forgotten locks that are still valid. A node votes when the record of its
/// memory is `manager_options::max_ttl` old: docs/fencing.md, "Who votes". The values differ in the treatment of nodes
/// without a record: they are new to the prefix, or have lost everything.
enum class restart_guard : std::uint8_t {
    /** If all nodes of the set answer and all are new, the first acquisition founds them, and they vote at once.
        Otherwise a new node waits for `manager_options::max_ttl`. If all nodes have lost everything at the same time,
       two clients may hold one lock. */
    automatic,
    /** A new node waits for `manager_options::max_ttl`, unless an operator founds the set: `lock_manager::async_found`,
       or `redlock nodes init`. Use it where two holders must never happen. */
    strict,
    /// Every node votes at once. After a restart, two clients may hold one lock.
    off,
};

}  // namespace redlock
