#pragma once

#include <cstdint>

namespace redlock {

/// Whom a lock keeps out.
enum class mode : std::uint8_t {
    exclusive,  ///< Everybody: one holder.
    shared,     ///< Who wants it for itself alone: any number of readers, or one writer.
};

}  // namespace redlock
