// How a held lock that is shared becomes exclusive, and shared again.

#include "core/renewal.hpp"
#include "core/validity.hpp"
#include "locks/held_lock.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace redlock::inline v0::detail {

redlock::mode held_lock::mode() const noexcept
{
    if (grant_->mode == mode::exclusive || held_as() == form::upgraded)
        return mode::exclusive;
    return is_upgradeable() ? mode::upgradeable : mode::shared;
}

void held_lock::may_be_upgraded(lock_handle right) noexcept
{
    right_to_upgrade_ = std::move(right);
}

// Before the lock: who is told that it is free, and wants it in the same way, finds this free, too.
void held_lock::give_back_right() noexcept
{
    auto const right = access::stake_of(right_to_upgrade_);
    if (right && right->give_back() == stake::end::last && right->lock.give_up(condition::released) != condition::released)
        state->holdings.give_away(right->lock);
}

// Who has been downgraded is never upgraded again: what took back the first upgrade may arrive late, and would take back the second.
error_code held_lock::begin_upgrade(waiting_upgrade* waits)
{
    if (auto const ec = check())
        return ec;
    if (held_as() != form::as_acquired || upgrading_)
        return errc::invalid_argument;
    upgrading_ = true;
    waiting_upgrade_ = waits;
    state->holdings.changed_mode(*this);
    return {};
}

void held_lock::end_upgrade()
{
    upgrading_ = false;
    bool const has_waited = std::exchange(waiting_upgrade_, nullptr);
    state->holdings.changed_mode(*this);
    if (has_waited && mode() != mode::exclusive)
        state->waiters.shared_again(resources.names().front());
}

void held_lock::others_changed()
{
    if (waiting_upgrade_)
        waiting_upgrade_->others_changed();
}

// The nodes shorten nothing; nor does what is counted on.
std::chrono::milliseconds held_lock::ttl_of_upgrade() const
{
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(valid_until() - state->now());
    return std::clamp(left, ttl_, std::max(ttl_, state->settings.max_ttl));
}

// The old validity was that of a reader, also where it was longer: only what nodes said to this question is about having it alone.
error_code held_lock::conclude_upgrade(round const& upgrade, std::uint64_t token)
{
    if (auto const ec = check())
        return ec;
    auto const promised = upgrade.promised();
    auto const until = valid_until(upgrade.started, promised);
    if (state->now() >= until - core::stop_margin(promised))
        return errc::validity_exhausted;
    if (token != 0)
        grant_->fence = token;
    set_valid_until(until, upgrade.started, promised);  // first: who sees that it is held alone must not count on more
    if (!change(form::as_acquired, form::upgraded)) {   // it was downgraded meanwhile
        keep();
        return asio::error::operation_aborted;
    }
    state->holdings.changed_mode(*this);
    if (renew_)
        renew_at_ = std::min(renew_at_, core::renewal_due(upgrade.started, promised, state->runtime.random()[0]));
    keep();
    return {};
}

error_code held_lock::conclude_downgrade(round const& downgrade)
{
    if (auto const ec = check())
        return ec;
    if (downgrade.votes.refused())
        return lose_to_refusal();
    return downgrade.votes.verdict() == core::verdict::won ? error_code() : make_error_code(errc::no_quorum);
}

}  // namespace redlock::detail
