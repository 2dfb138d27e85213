#pragma once

#include "runtime/counter.hpp"

#include <redlock/error.hpp>
#include <redlock/stats.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::inline v0::locks {

/// How many histograms there are: the last members.
inline constexpr std::size_t lock_histograms = (sizeof(lock_stats) - offsetof(lock_stats, time_to_acquire))
                                               / sizeof(histogram);

/// What is counted of one group of acquisitions, and of the locks that they have won.
struct group_counters : runtime::member_counters<lock_stats, lock_histograms> {
    std::string name{};

    /// An acquisition that had begun has ended.
    void outcome(error_code);
};

/// What a manager counts. Only the strand writes; any thread reads.
class counters : public runtime::member_counters<stats> {
public:
    /// Those of a group; once there are too many, or no memory for one more, of what stands for all others.
    group_counters& of(std::string_view group) noexcept;

    /// Of an acquisition that begins.
    std::uint64_t next_number() noexcept { return ++last_number_; }

    void tell(stats&) const;  ///< any thread

private:
    static constexpr std::size_t most = 64;

    std::uint64_t last_number_ = 0;
    group_counters ungrouped_;
    std::array<std::unique_ptr<group_counters>, most + 1> groups_;  // the last: all others. As many as are counted
                                                                    // never change
    std::atomic<std::size_t> count_{0};
};

}  // namespace redlock::locks
