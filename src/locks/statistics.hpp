#pragma once

#include "runtime/counter.hpp"

#include <redlock/error.hpp>
#include <redlock/histogram.hpp>
#include <redlock/stats.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::inline v0::detail {

/// What is counted of one group of acquisitions, and of the locks that they have won.
struct group_counters {
    std::string name{};
    std::atomic<std::uint64_t> begun{0}, acquired{0}, joined{0}, contended{0}, no_quorum{0}, validity_exhausted{0}, quarantined{0}, cancelled{0}, failed{0},
        released{0}, detached{0}, lost{0};
    histogram_recorder time_to_acquire, time_waited, time_to_fail, time_held, validity_left;

    /// An acquisition that had begun has ended.
    void outcome(error_code);

    lock_stats snapshot() const;  ///< any thread
};

/// What a manager counts that no room of its own counts. Only the strand writes; any thread reads.
class counters {
public:
    std::atomic<std::uint64_t> rounds{0}, second_rounds{0}, renewals{0}, renewals_failed{0};

    /// Those of a group; once there are too many, or no memory for one more, of what stands for all others.
    group_counters& of(std::string_view group) noexcept;

    /// Of an acquisition that begins.
    std::uint64_t next_number() noexcept { return ++last_number_; }

    void tell(stats&) const;  ///< any thread

private:
    static constexpr std::size_t most = 16;

    std::uint64_t last_number_ = 0;
    group_counters ungrouped_;
    std::array<std::unique_ptr<group_counters>, most> groups_;  // as many as are counted never change
    std::atomic<std::size_t> count_{0};
};

}  // namespace redlock::detail
