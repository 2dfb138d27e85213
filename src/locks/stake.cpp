#include "locks/held_lock.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace redlock::detail {

stake::stake(std::shared_ptr<held_lock> l) noexcept : lock(*l), keep_(std::move(l)), given_back_(!lock.one_more()) {}

bool stake::held() const noexcept
{
    return !given_back() && lock.held();
}

stake::end stake::give_back() noexcept
{
    if (given_back_.exchange(true))
        return end::before;
    end_body();
    return lock.one_less() ? end::last : end::one_of_several;
}

// On another thread it may be given back at the same time: one of both ends it, whichever comes second.
void stake::runs_body() noexcept
{
    has_body_ = true;
    if (given_back())
        end_body();
}

void stake::end_body() noexcept
{
    if (has_body_.exchange(false))
        lock.body_is_over();
}

// From none it never becomes one again: who gave back the last may have told the nodes.
bool held_lock::one_more() noexcept
{
    auto before = stakes_.load(std::memory_order_relaxed);
    while (before != 0 && !stakes_.compare_exchange_weak(before, before + 1, std::memory_order_acq_rel)) {
    }
    return before != 0;
}

std::shared_ptr<stake> another(std::shared_ptr<stake> const& s)
{
    return s && !s->given_back() ? s->lock.another() : nullptr;
}

std::shared_ptr<stake> held_lock::another()
{
    auto more = make_recycled<stake>(shared_from_this());
    return more->given_back() ? nullptr : more;
}

void tell_waits_of(std::shared_ptr<stake> const& s)
{
    asio::post(s->lock.state->strand(), [s] {
        s->lock.end_waits_of(*s);
        s->lock.others_changed();
    });
}

void give_back(std::shared_ptr<stake> const& s) noexcept
{
    auto& held = s->lock;
    auto const end = s->give_back();
    if (end == stake::end::before || held.state->abandoned())
        return;
    try {
        if (end == stake::end::one_of_several)
            return tell_waits_of(s);
        if (held.give_up(held_lock::condition::released) != held_lock::condition::released)
            asio::post(held.state->strand(), [s] { s->lock.state->holdings.give_away(s->lock); });
    } catch (...) {  // out of memory: the key stays until its ttl is over
    }
}

}  // namespace redlock::detail
