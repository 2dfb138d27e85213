#pragma once

#include <cstdint>

namespace redlock {

/// Whom a lock keeps out.
enum class mode : std::uint8_t {
    exclusive,  ///< Everybody: one holder.
    shared,     ///< Who wants it for itself alone: any number of readers, or one writer.
    /// As @ref shared, beside any number of readers, but one at a time: it may wait until it has the lock alone, `lock::async_upgrade`.
    upgradeable,
};

}  // namespace redlock
