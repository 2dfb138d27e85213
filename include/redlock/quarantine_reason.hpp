#pragma once

#include <redlock/detail/api.hpp>

#include <cstdint>

namespace redlock::inline v1 {

/// Why a node does not vote yet.
enum class quarantine_reason : std::uint8_t {
    /// The server is new to the prefix: it has no record of its memory. A server that has lost all its keys looks the
    /// same. If all servers are newly installed, `lock_manager::async_found` lets them vote at once.
    fresh,
    restarted,  ///< The server has restarted or has lost keys, so it may have forgotten locks.
    promoted,   ///< The server was a replica, so it may lack locks of the earlier primary.
    log_off,    ///< The server's log was switched off. A restart now would lose locks unnoticed.
};

/// The name of a reason: "new", "restarted", "promoted" or "log_off".
REDLOCK_API char const* to_string(quarantine_reason) noexcept;

}  // namespace redlock
