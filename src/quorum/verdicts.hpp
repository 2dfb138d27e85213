#pragma once

#include "quorum/ballot_set.hpp"

#include <redlock/clock.hpp>
#include <redlock/report.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

// These functions read the votes of a round that is decided.

namespace redlock::inline v1::quorum {

/// Whether every node has granted.
bool all_granted(ballot_set const&) noexcept;

/// For an acquisition that contends: whether other clients want the lock.
bool is_wanted(ballot_set const&) noexcept;

/// For a round that is won: how long a quorum has promised the keys. At most the ttl.
std::chrono::milliseconds promised(ballot_set const&);

/// For a round that is won: whether it is so late that the manager would lose the lock immediately. @p max_hold as in
/// `acquire_options`.
bool came_too_late(ballot_set const&, clock::time_point decided_at, std::chrono::milliseconds max_hold);

/// How many nodes granted but are in quarantine.
std::size_t quarantined(ballot_set const&) noexcept;

/// Whether a node granted while a trim is unconfirmed. Such a grant never counts for this value.
bool is_revocable(ballot_set const&) noexcept;

/// For a round @ref to_ask_if_new : founds the set by the same nodes. Nothing: one of them has not granted.
std::optional<round_command> to_found(ballot_set const& asked);

/// Returns `attempt_report::nodes`.
std::vector<node_report> report(ballot_set const&);

}  // namespace redlock::quorum
