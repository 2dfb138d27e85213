#pragma once

#include "locks/handles.hpp"
#include "locks/held_mode.hpp"
#include "locks/manager_state.hpp"
#include "locks/renewal_plan.hpp"
#include "locks/validity.hpp"
#include "quorum/round.hpp"

#include <redlock/lock.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::inline v1::locks {

/** A lock that was won: what its handles and the manager share. It connects its parts, each with a state of its own.

    While it is held, it is among the @ref held_locks and its alarm is set. The alarm rings when a renewal is due, and
    when the lock counts as lost. The loss waits for no reply.
*/
class held_lock final : public std::enable_shared_from_this<held_lock>, public held_lock_entry {
public:
    using condition = locks::validity::condition;
    using form = held_mode::form;

    held_lock(std::shared_ptr<manager_state>, lock_origin const&, resource_set, quorum::round const& won,
              acquire_options const&);

    std::shared_ptr<manager_state> const state;
    clock::time_point const acquired;
    locks::validity validity;
    locks::handles handles{*this};
    held_mode held_as;

    // Any thread.
    bool held() const noexcept override;
    clock::time_point valid_until() const noexcept override { return validity.until(); }
    redlock::mode mode() const noexcept override { return held_as.mode(); }
    std::shared_ptr<handle_state> first_handle() noexcept { return {shared_from_this(), &handles.first}; }
    /// One more handle, which a scope may count; null if the last handle has been given back.
    std::shared_ptr<handle_state> another_handle(std::shared_ptr<scope_share> of_scope = {});
    bool is_detached() const noexcept override { return validity.is(condition::detached); }
    bool leaves_keys() const noexcept override;
    /// After a loss: its reason, for people. While held: why the latest extension failed; on the strand.
    std::string const& lost_because() const noexcept { return trouble_; }

    // On the strand.
    std::shared_ptr<quorum::grant> const& grant() const noexcept override { return grant_; }
    std::chrono::milliseconds longest_ttl() const noexcept override { return longest_ttl_; }
    void may_live_for(std::chrono::milliseconds ttl) noexcept { longest_ttl_ = std::max(longest_ttl_, ttl); }
    /// Sets the alarm for the next renewal or the loss, whichever comes first.
    void set_alarm();
    /// Loses the lock if it counts as lost at @p now and its alarm has not rung yet.
    void note_expiry(clock::time_point now);
    /// Call @ref note_expiry first. @return no error if it is held
    error_code why_not_held() const noexcept;
    /// Evaluates an extension: moves the validity, loses the lock, or does neither.
    error_code conclude(quorum::round const& extension, clock::time_point now);
    /// @param slack how much validity was left
    void renewed(error_code, std::chrono::nanoseconds slack, bool is_late);
    /// Whether the lock lasts as long as a new lock of @p ttl would. If it is renewed for @p ttl anyway, and the caller
    /// wants renewal, half of that is enough.
    bool lasts_for(std::chrono::milliseconds ttl, renewal) const noexcept;
    /// Renews the lock from now on, for at least @p ttl.
    void renew_for(std::chrono::milliseconds ttl);
    /// Keeps the keys until @p d after the winning round began, even if the lock is released earlier. Ignored for a
    /// lost lock.
    void stay_for(std::chrono::milliseconds d);
    void lose(loss, std::string_view why);
    /// Call this when the lock is released after a loss, or after its validity: notes that, for people.
    void released_late();
    /// Whether @ref lost_because tells why a lock that was released is not held.
    bool was_released_late() const noexcept { return was_released_late_; }
    error_code lose_to_refusal();
    /// Notes that `lock_manager::with_lock` runs a body under the lock. The body may need long to stop, so renewals
    /// continue while the manager ends.
    void runs_body(handle_state& by);

    // Upgrade and downgrade: held_upgrade.cpp.
    error_code begin_upgrade(waiting_upgrade* waits);
    void end_upgrade();
    std::chrono::milliseconds ttl_of_upgrade() const;
    error_code conclude_upgrade(quorum::round const&, std::uint64_t token);
    error_code conclude_downgrade(quorum::round const&);
    void others_changed() override { held_as.others_changed(); }
    bool keeps_readers_out() const noexcept override { return held_as.keeps_readers_out(); }

    bool may_be_resumed() const noexcept { return may_be_resumed_; }
    bool is_wanted() const noexcept override { return wanted_; }
    std::shared_ptr<handle_state> join(acquire_options const&, clock::time_point called) override;
    bool give_back() override;
    void key_may_be_gone(std::size_t node) override;
    void abandon() override;
    void stop() noexcept override;

private:
    void ring();
    void lose_to_time();
    void give_away_when_over();
    std::string stall_first() const;
    bool renews() const noexcept;

    std::shared_ptr<quorum::grant> const grant_;
    clock::time_point const started_;  ///< when the round that won began
    renewal_plan renewal_;
    std::chrono::milliseconds longest_ttl_;
    bool const may_be_resumed_;
    bool was_lost_ = false;
    bool was_released_late_ = false;
    bool const wanted_;    ///< a writer waited when the lock was won
    bool free_ = false;    ///< lost or given back
    std::string trouble_;  ///< the missing votes of the latest extension, if it failed; then why the lock was lost
    runtime::alarm alarm_;
};

/// Begins a renewal, which ends by calling @ref held_lock::renewed.
void start_renewal(std::shared_ptr<held_lock>, std::chrono::milliseconds ttl);

// The statistics and events of a held lock: held_events.cpp.

/// Call this while the lock is held. @param slack as in `events::extended`
void tell_extension(held_lock const&, error_code, bool automatic, std::chrono::nanoseconds slack) noexcept;
void tell_loss(held_lock const&, loss, clock::time_point now) noexcept;
/// Call this for a lock that is not lost.
void tell_end(held_lock const&, clock::time_point now) noexcept;

}  // namespace redlock::locks
