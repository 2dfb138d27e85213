#pragma once

#include <redlock/stats.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace redlock::inline v1::events {

/// The counters and histograms of a public struct of statistics that a manager counts. A gauge is not counted.
template <class S>
struct stat_members;

template <>
struct stat_members<lock_stats> {
    static constexpr std::array counters{
        &lock_stats::begun,        &lock_stats::acquired,           &lock_stats::joined,       &lock_stats::contended,
        &lock_stats::no_quorum,    &lock_stats::validity_exhausted, &lock_stats::quarantined,  &lock_stats::cancelled,
        &lock_stats::failed,       &lock_stats::released,           &lock_stats::detached,     &lock_stats::lost,
        &lock_stats::lost_expired, &lock_stats::lost_refused,       &lock_stats::lost_max_hold};
    static constexpr std::array histograms{&lock_stats::time_to_acquire, &lock_stats::time_waited,
                                           &lock_stats::time_to_fail,    &lock_stats::time_held,
                                           &lock_stats::validity_left,   &lock_stats::renewal_slack};
};

/// Without the members from lock_stats.
template <>
struct stat_members<stats> {
    static constexpr std::array counters{&stats::rounds,        &stats::second_rounds,   &stats::renewals,
                                         &stats::renewals_late, &stats::renewals_failed, &stats::healed,
                                         &stats::cleaned};
    static constexpr std::array<histogram stats::*, 0> histograms{};
};

template <>
struct stat_members<node_stats> {
    static constexpr std::array counters{&node_stats::granted, &node_stats::denied, &node_stats::unknown,
                                         &node_stats::connections};
    static constexpr std::array histograms{&node_stats::round_trip};
};

/// Whether no two elements are equal.
constexpr bool are_distinct(auto const& members)
{
    for (std::size_t i = 0; i < members.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (members[i] == members[j])
                return false;
        }
    }
    return true;
}

// The table has each member of lock_stats: there are no others, and there is no padding.
static_assert(are_distinct(stat_members<lock_stats>::counters) && are_distinct(stat_members<lock_stats>::histograms));
static_assert(sizeof(lock_stats)
              == stat_members<lock_stats>::counters.size() * sizeof(std::uint64_t)
                     + stat_members<lock_stats>::histograms.size() * sizeof(histogram));

}  // namespace redlock::events
