#include "locks/statistics.hpp"

#include <boost/asio/error.hpp>

namespace redlock::inline v0::detail {

namespace {

std::uint64_t read(std::atomic<std::uint64_t> const& counter) noexcept
{
    return counter.load(std::memory_order_relaxed);
}

}  // namespace

void group_counters::outcome(error_code ec)
{
    if (ec == errc::contended)
        bump(contended);
    else if (ec == errc::no_quorum)
        bump(no_quorum);
    else if (ec == errc::validity_exhausted)
        bump(validity_exhausted);
    else if (ec == errc::quarantined)
        bump(quarantined);
    else if (ec == boost::asio::error::operation_aborted)
        bump(cancelled);
    else if (ec)
        bump(failed);
}

lock_stats group_counters::snapshot() const
{
    return {.begun = read(begun),
            .acquired = read(acquired),
            .joined = read(joined),
            .contended = read(contended),
            .no_quorum = read(no_quorum),
            .validity_exhausted = read(validity_exhausted),
            .quarantined = read(quarantined),
            .cancelled = read(cancelled),
            .failed = read(failed),
            .released = read(released),
            .detached = read(detached),
            .lost = read(lost),
            .time_to_acquire = time_to_acquire.snapshot(),
            .time_waited = time_waited.snapshot(),
            .time_to_fail = time_to_fail.snapshot(),
            .time_held = time_held.snapshot(),
            .validity_left = validity_left.snapshot()};
}

group_counters& counters::of(std::string_view group) noexcept
{
    if (group.empty())
        return ungrouped_;
    auto const known = count_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < known; ++i) {
        if (groups_[i]->name == group)
            return *groups_[i];
    }
    if (known == most)
        return *groups_[most - 1];
    try {
        groups_[known] = std::make_unique<group_counters>();
        groups_[known]->name = known + 1 < most ? group : "other";
    } catch (...) {  // out of memory
        return ungrouped_;
    }
    count_.store(known + 1, std::memory_order_release);
    return *groups_[known];
}

void counters::tell(stats& to) const
{
    to.rounds = read(rounds);
    to.second_rounds = read(second_rounds);
    to.renewals = read(renewals);
    to.renewals_failed = read(renewals_failed);
    static_cast<lock_stats&>(to) = ungrouped_.snapshot();
    auto const known = count_.load(std::memory_order_acquire);
    if (known > 0)
        to.groups.push_back({static_cast<lock_stats const&>(to), {}});
    for (std::size_t i = 0; i < known; ++i) {
        to.groups.push_back({groups_[i]->snapshot(), groups_[i]->name});
        to += to.groups.back();
    }
}

}  // namespace redlock::detail
