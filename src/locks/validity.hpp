#pragma once

#include "core/validity.hpp"

#include <redlock/clock.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace redlock::inline v1::locks {

/// Until when a lock is valid, when it counts as lost, and whether its holder still has it.
class validity {
public:
    /// The condition only changes to a later one of these.
    enum class condition : std::uint8_t { held, lost, released, detached };

    /// @param max_hold as in `acquire_options`
    validity(clock::time_point started, std::chrono::milliseconds promised, std::chrono::milliseconds max_hold,
             double drift_factor) noexcept
        : drift_factor_(drift_factor), hold_until_(core::hold_until(started, max_hold))
    {
        set(started, promised);
    }

    // Any thread.
    clock::time_point until() const noexcept
    {
        return clock::time_point(clock::duration(until_.load(std::memory_order_acquire)));
    }
    bool is(condition c) const noexcept { return condition_.load(std::memory_order_acquire) == c; }

    /// @return the condition before
    condition give_up(condition to) noexcept
    {
        auto before = condition_.load(std::memory_order_acquire);
        while (before < to && !condition_.compare_exchange_weak(before, to, std::memory_order_acq_rel)) {
        }
        return before;
    }

    /// Leaves the keys to another process. @return false if the lock is no longer held
    bool detach() noexcept
    {
        auto before = condition::held;
        return condition_.compare_exchange_strong(before, condition::detached, std::memory_order_acq_rel);
    }

    // On the strand.
    /// The lock counts as lost some time before its validity ends, so that its holder has time to stop.
    clock::time_point lost_at() const noexcept { return until() - margin_; }
    clock::duration left(clock::time_point now) const noexcept
    {
        return std::max(until() - now, clock::duration::zero());
    }
    /// The duration that the nodes promised in the latest @ref set.
    std::chrono::milliseconds promised() const noexcept { return promised_; }
    bool is_limited() const noexcept { return hold_until_ != clock::time_point::max(); }  ///< by max_hold
    bool ends_with_max_hold() const noexcept { return until() >= hold_until_; }

    /// Until when the lock is valid after a round that began at @p started and in which a quorum promised @p promised.
    clock::time_point after(clock::time_point started, std::chrono::milliseconds promised) const noexcept
    {
        return std::min(core::valid_until(started, promised, drift_factor_), hold_until_);
    }

    void set(clock::time_point started, std::chrono::milliseconds promised) noexcept
    {
        until_.store(after(started, promised).time_since_epoch().count(), std::memory_order_release);
        auto const until_max_hold = std::chrono::floor<std::chrono::milliseconds>(hold_until_ - started);
        promised_ = std::min(promised, until_max_hold);
        margin_ = core::stop_margin(promised_);
    }

private:
    double const drift_factor_;
    clock::time_point const hold_until_;
    std::chrono::milliseconds promised_{0};
    std::chrono::milliseconds margin_{0};
    std::atomic<clock::rep> until_{0};
    std::atomic<condition> condition_{condition::held};
};

}  // namespace redlock::locks
