#pragma once

#include <cstdint>

namespace redlock::inline v1 {

/// The mode of a lock: which other holders it excludes.
enum class mode : std::uint8_t {
    exclusive,  ///< One holder, and no other (a writer).
    shared,     ///< Any number of readers, and no writer.
    /// A reader, beside any number of shared readers. One holder at a time is upgradeable: it may wait in
    /// `lock::async_upgrade` until it is the only one.
    upgradeable,
};

}  // namespace redlock
