#pragma once

#include "cli/doctor/facts.hpp"

#include <cstdint>

namespace redlock::cli::doctor {

/// Whether a server remembers its locks over a restart, as managers see it.
struct durability_state {
    enum class lack : std::uint8_t {
        nothing,
        log,                ///< appendonly
        written,            ///< the last write has failed
        synced,             ///< appendfsync always
        synced_on_rewrite,  ///< no-appendfsync-on-rewrite no
        complete,           ///< a rewrite is under way, or about to be
    };

    lack lacks = lack::nothing;
    bool from_start = false;  ///< the log was there when the server began, so that it does remember what was before

    bool is_durable() const noexcept { return lacks == lack::nothing && from_start; }
};

/// Of a server whose INFO and settings are known.
durability_state durability_of(node_facts const&);

}  // namespace redlock::cli::doctor
