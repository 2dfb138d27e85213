#pragma once

#include "runtime/counter.hpp"

#include <redlock/error.hpp>

#include <atomic>
#include <cstdint>

namespace redlock::detail {

/// What a manager counts that no room of its own counts. Only the strand writes; any thread reads.
struct counters {
    std::atomic<std::uint64_t> joined{0}, rounds{0}, second_rounds{0}, contended{0}, no_quorum{0}, validity_exhausted{0}, quarantined{0},
        cancelled{0}, released{0}, detached{0}, lost{0}, renewals{0}, renewals_failed{0};

    /// An acquisition has ended.
    void outcome(error_code);
};

}  // namespace redlock::detail
