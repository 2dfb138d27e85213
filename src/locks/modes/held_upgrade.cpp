// The upgrade and the downgrade of a held lock.

#include "locks/held_mode.hpp"

#include "locks/held_lock.hpp"
#include "quorum/verdicts.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace redlock::inline v1::locks {

redlock::mode held_mode::mode() const noexcept
{
    if (acquired_ == mode::exclusive || current() == form::upgraded)
        return mode::exclusive;
    return is_upgradeable() ? mode::upgradeable : mode::shared;
}

// The right is given back before the lock, so that a waiter that is notified of the free lock finds the right free,
// too.
void held_mode::give_back_right() noexcept
{
    using condition = validity::condition;
    auto const right = detail::access::handle_of(right_);
    if (!right || right->give_back() != handle_state::end::last)
        return;
    if (right->lock.validity.give_up(condition::released) != condition::released)
        right->lock.state->held_locks.give_away(right->lock);
}

// A lock that was downgraded is never upgraded again. The request that reverts the first upgrade may arrive late, and
// would revert the second.
bool held_mode::begin_upgrade(waiting_upgrade* waits) noexcept
{
    if (current() != form::as_acquired || changing_)
        return false;
    changing_ = true;
    waits_ = waits;
    return true;
}

bool held_mode::end_upgrade() noexcept
{
    changing_ = false;
    return std::exchange(waits_, nullptr) && mode() != mode::exclusive;
}

void held_mode::others_changed()
{
    if (waits_)
        waits_->others_changed();
}

error_code held_lock::begin_upgrade(waiting_upgrade* waits)
{
    note_expiry(state->now());
    if (auto const ec = why_not_held())
        return ec;
    if (!held_as.begin_upgrade(waits))
        return errc::invalid_argument;
    state->held_locks.changed_mode(*this);
    return {};
}

void held_lock::end_upgrade()
{
    bool const has_waited_in_vain = held_as.end_upgrade();
    state->held_locks.changed_mode(*this);
    if (has_waited_in_vain)
        state->waiters.shared_again(resources.names().front());
}

// The nodes never shorten a ttl. The upgrade asks for the validity that is left, and at least for the renewal's ttl, so
// that the validity does not shrink either.
std::chrono::milliseconds held_lock::ttl_of_upgrade() const
{
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(validity.until() - state->now());
    return std::clamp(left, renewal_.ttl(), std::max(renewal_.ttl(), state->settings.max_ttl));
}

// The old validity was that of a reader, even if it was longer. Only the votes of this round say that the lock is
// exclusive.
error_code held_lock::conclude_upgrade(quorum::round const& upgrade, std::uint64_t token)
{
    note_expiry(state->now());
    if (auto const ec = why_not_held())
        return ec;
    auto const promised = quorum::promised(upgrade);
    if (state->now() >= validity.after(upgrade.started, promised) - core::stop_margin(promised))
        return errc::validity_exhausted;
    if (token != 0)
        grant_->fence = token;
    // Before the form changes: a thread that sees an exclusive lock must not see the reader's validity.
    validity.set(upgrade.started, promised);
    bool const is_upgraded = held_as.change(form::as_acquired, form::upgraded);  // false: downgraded meanwhile
    if (is_upgraded) {
        state->held_locks.changed_mode(*this);
        renewal_.upgraded(upgrade.started, promised);
    }
    set_alarm();
    return is_upgraded ? error_code() : make_error_code(asio::error::operation_aborted);
}

error_code held_lock::conclude_downgrade(quorum::round const& downgrade)
{
    note_expiry(state->now());
    if (auto const ec = why_not_held())
        return ec;
    if (downgrade.votes.refused())
        return lose_to_refusal();
    return downgrade.votes.verdict() == core::verdict::won ? error_code() : make_error_code(errc::no_quorum);
}

}  // namespace redlock::locks
