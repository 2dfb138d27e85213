#pragma once

#include "events/member_counters.hpp"

#include <redlock/error.hpp>
#include <redlock/stats.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::inline v1::locks {

/// The statistics of one group: of its acquisitions, and of the locks that they won.
struct group_counters : events::member_counters<lock_stats> {
    std::string name{};

    /// Call this when an acquisition that had begun has ended.
    void outcome(error_code);
};

/// The statistics of a manager. Only the strand writes; any thread reads.
class counters : public events::member_counters<stats> {
public:
    /// The counters of a group. After too many groups: those of "other". Out of memory: those without a group.
    group_counters& of(std::string_view group) noexcept;

    /// The number of a new acquisition.
    std::uint64_t next_number() noexcept { return ++last_number_; }

    void tell(stats&) const;  ///< any thread

private:
    static constexpr std::size_t most = 64;

    std::uint64_t last_number_ = 0;
    group_counters ungrouped_;
    // The last one is for all other groups. The first `count_` pointers never change.
    std::array<std::unique_ptr<group_counters>, most + 1> groups_;
    std::atomic<std::size_t> count_{0};
};

}  // namespace redlock::locks
