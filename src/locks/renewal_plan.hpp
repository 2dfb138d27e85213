#pragma once

#include "core/renewal.hpp"
#include "runtime/runtime.hpp"

#include <redlock/clock.hpp>
#include <redlock/options.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace redlock::inline v1::locks {

/// When a lock is renewed, and for how long. On the strand.
class renewal_plan {
public:
    /// @param promised the time that a quorum promised in the round that began at @p started
    renewal_plan(runtime::runtime& r, acquire_options const& options, clock::time_point started,
                 std::chrono::milliseconds promised)
        : runtime_(r), ttl_(options.ttl), promised_(promised), automatic_(options.renew == renewal::automatic)
    {
        if (automatic_)
            plan(started);
    }

    bool is_automatic() const noexcept { return automatic_; }
    bool is_pending() const noexcept { return automatic_ && !under_way_; }
    clock::time_point due() const noexcept { return due_; }
    std::chrono::milliseconds ttl() const noexcept { return ttl_; }

    void begin() noexcept { under_way_ = true; }

    void ended(bool well)
    {
        under_way_ = false;
        auto const now = runtime_.now();
        if (well)
            plan(now);
        else
            due_ = core::renewal_retry(now, promised_);
        not_before_ = now + promised_ / 20;
        if (std::exchange(gone_meanwhile_, false))
            due_ = std::min(due_, not_before_);
    }

    /// Renews the lock from now on, for at least @p ttl.
    void renew_for(std::chrono::milliseconds ttl)
    {
        automatic_ = true;
        ttl_ = std::max(ttl_, ttl);
        plan(runtime_.now());
    }

    /// Call this when an extension for @p ttl has won. However short the promise is, renewals are not more frequent
    /// than with the least allowed ttl.
    void extended(std::chrono::milliseconds promised, std::chrono::milliseconds ttl) noexcept
    {
        if (ttl >= ttl_)
            promised_ = std::clamp(promised, period_min, std::max(ttl_, period_min));
    }

    /// Call this after an upgrade that began at @p started: it may have left less validity.
    void upgraded(clock::time_point started, std::chrono::milliseconds promised)
    {
        if (automatic_)
            due_ = std::min(due_, core::renewal_due(started, promised, runtime_.random()[0]));
    }

    /// Call this when a node says that its key is gone.
    void key_is_gone() noexcept { gone_meanwhile_ = under_way_; }
    void ask_soon() noexcept { due_ = std::min(due_, std::max(runtime_.now(), not_before_)); }

    bool fails = false;  ///< for the @ref renewal_log

private:
    static constexpr std::chrono::milliseconds period_min{20};

    void plan(clock::time_point from) { due_ = core::renewal_due(from, promised_, runtime_.random()[0]); }

    runtime::runtime& runtime_;
    std::chrono::milliseconds ttl_;
    std::chrono::milliseconds promised_;
    bool automatic_;
    bool under_way_ = false;
    bool gone_meanwhile_ = false;  // a node reported a missing key during a renewal
    clock::time_point due_ = clock::time_point::max();
    clock::time_point not_before_;  // no renewal begins earlier, even if nodes report a missing key
};

}  // namespace redlock::locks
