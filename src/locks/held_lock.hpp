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

namespace redlock::inline v0::locks {

/** A lock that was won: what its handles and the manager share. It connects its parts, each with a state of its own.

    While it is held it is among the @ref holdings and its alarm is set: for the renewal that is due, and for the moment
    at which it counts as lost, which waits for nothing and nobody. Of its functions, fourteen are what the holdings ask
    of each @ref holding.
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
    /// One more, which a scope may count; null if the last has been given back.
    std::shared_ptr<handle_state> another(std::shared_ptr<scope_share> of_scope = {});
    bool is_detached() const noexcept override { return validity.is(condition::detached); }
    /// Of one that was lost: why, for people. Of one that is held: why the latest extension has failed; on the strand.
    std::string const& lost_because() const noexcept { return trouble_; }

    // On the strand.
    std::shared_ptr<quorum::grant> const& grant() const noexcept override { return grant_; }
    std::chrono::milliseconds longest_ttl() const noexcept override { return longest_ttl_; }
    void may_live_for(std::chrono::milliseconds ttl) noexcept { longest_ttl_ = std::max(longest_ttl_, ttl); }
    void set_alarm();  ///< sets the alarm
    error_code check() { return check(state->now()); }
    error_code check(clock::time_point now);  ///< an error if it is not held; it may turn out to be lost
    error_code conclude(quorum::round const& extension, clock::time_point now);  ///< moves the validity, or loses the
                                                                                 ///< lock, or neither
    /// @param slack how much validity was left
    void renewed(error_code, std::chrono::nanoseconds slack, bool is_late);
    /// Whether who asks now for @p ttl finds as much left of it as a lock of its own would have, or, of one that is
    /// renewed for that anyway and is to be, half.
    bool lasts_for(std::chrono::milliseconds ttl, renewal) const noexcept;
    /// From now on it is renewed, for @p ttl at the least.
    void renew_for(std::chrono::milliseconds ttl);
    /// Its keys stay, whoever gives it back, until @p d after the acquisition began; not of one that is lost.
    void stay_for(std::chrono::milliseconds d);
    void lose(loss, std::string_view why);
    error_code lose_to_refusal();
    /// `lock_manager::with_lock` runs a body under it, which may need long to stop: the manager's end does not end its
    /// renewal.
    void runs_body(handle_state& by);

    // To have it alone: held_upgrade.cpp.
    error_code begin_upgrade(waiting_upgrade* waits);
    void end_upgrade();
    std::chrono::milliseconds ttl_of_upgrade() const;
    error_code conclude_upgrade(quorum::round const&, std::uint64_t token);
    error_code conclude_downgrade(quorum::round const&);
    void others_changed() override { held_as.others_changed(); }
    bool keeps_readers_out() const noexcept override { return held_as.keeps_readers_out(); }

    bool is_wanted() const noexcept override { return wanted_; }
    std::shared_ptr<handle_state> join(acquire_options const&, clock::time_point called) override;
    bool let_go() override;
    void may_be_gone(std::size_t node) override;
    void abandon() override;
    void told_to_stop() noexcept override;

private:
    void ring();
    void lose_to_time();
    void give_away_when_over();
    bool renews() const noexcept;

    std::shared_ptr<quorum::grant> const grant_;
    clock::time_point const started_;  ///< the round that won
    renewal_plan renewal_;
    std::chrono::milliseconds longest_ttl_;
    bool const wanted_;    ///< somebody waited to have it alone when it was won
    bool free_ = false;    ///< lost or let go
    std::string trouble_;  ///< whose votes were missing in the latest extension, if it failed; then why it was lost
    runtime::alarm alarm_;
};

/// Begins a renewal, which ends with @ref held_lock::renewed.
void start_renewal(std::shared_ptr<held_lock>, std::chrono::milliseconds ttl);

// What is counted and told of a held lock: held_events.cpp.

/// The lock is still held. @param slack as in `events::extended`
void tell_extension(held_lock const&, error_code, bool automatic, std::chrono::nanoseconds slack) noexcept;
void tell_loss(held_lock const&, loss, clock::time_point now) noexcept;
/// Of one that is not lost.
void tell_end(held_lock const&, clock::time_point now) noexcept;

}  // namespace redlock::locks
