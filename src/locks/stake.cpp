#include "locks/held_lock.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace redlock::inline v0::detail {

namespace {

stake& stake_of(lock_handle const& part) noexcept { return *access::stake_of(part); }

}  // namespace

stake::stake(std::shared_ptr<held_lock> l, std::shared_ptr<scope_share> of_scope) noexcept
    : lock(*l), keep_(std::move(l)), of_scope_(std::move(of_scope)), given_back_(!join())
{
}

stake::stake(resource_set names, std::vector<lock_handle> parts)
    : lock(stake_of(parts.front()).lock), composition_(new composition{std::move(names), std::move(parts)})
{
}

bool stake::join() noexcept
{
    if (of_scope_ && !of_scope_->handles.one_more())
        return false;
    if (lock.handles.count.one_more())
        return true;
    leave_scope();
    return false;
}

std::span<lock_handle const> stake::parts() const noexcept
{
    return composition_ ? std::span<lock_handle const>(composition_->parts) : std::span<lock_handle const>();
}

resource_set const& stake::resources() const noexcept { return composition_ ? composition_->names : lock.resources; }

bool stake::held() const noexcept
{
    auto const all = parts();
    return !given_back()
           && (all.empty() ? lock.held() : std::all_of(all.begin(), all.end(), [](auto& p) { return p.held(); }));
}

clock::time_point stake::valid_until() const noexcept
{
    auto until = lock.valid_until();
    for (auto const& p : parts())
        until = std::min(until, p.valid_until());
    return until;
}

std::string_view stake::lost_because() const noexcept
{
    for (auto const& p : parts()) {
        if (auto const& l = stake_of(p).lock; l.validity.is(held_lock::condition::lost))
            return l.lost_because();
    }
    return lock.validity.is(held_lock::condition::lost) ? std::string_view(lock.lost_because()) : std::string_view();
}

stake::end stake::give_back() noexcept
{
    if (given_back_.exchange(true))
        return end::before;
    end_body();
    if (composition_)
        return end::in_parts;
    leave_scope();
    return lock.handles.count.one_less() ? end::last : end::one_of_several;
}

bool stake::end_alone() noexcept
{
    if (!lock.handles.count.end_the_only_one())
        return false;
    if (!given_back_.exchange(true)) {
        end_body();
        leave_scope();
    }
    return true;
}

void stake::leave_scope() noexcept
{
    if (of_scope_)
        of_scope_->handles.one_less();
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
        --lock.handles.bodies;
}

void runs_body(stake& s)
{
    if (s.parts().empty())
        s.lock.runs_body(s);
    for (auto const& p : s.parts())
        stake_of(p).lock.runs_body(stake_of(p));
}

std::shared_ptr<stake> another(std::shared_ptr<stake> const& s)
{
    if (!s || s->given_back())
        return nullptr;
    if (s->parts().empty())
        return s->lock.another(s->of_scope());
    std::vector<lock_handle> parts;
    for (auto const& p : s->parts()) {
        parts.push_back(access::make_handle(another(access::stake_of(p))));
        if (parts.back().empty())
            return nullptr;
    }
    return std::make_shared<stake>(s->resources(), std::move(parts));
}

void tell_waits_of(std::shared_ptr<stake> const& s)
{
    asio::post(s->lock.state->strand(), [s] {
        s->lock.handles.end_waits_of(*s);
        s->lock.others_changed();
    });
}

void give_back(std::shared_ptr<stake> const& s) noexcept
{
    auto& held = s->lock;
    auto const end = s->give_back();
    if (end == stake::end::in_parts) {
        for (auto const& p : s->parts())
            give_back(access::stake_of(p));
        return;
    }
    if (end == stake::end::before || held.state->abandoned())
        return;
    try {
        if (end == stake::end::one_of_several)
            return tell_waits_of(s);
        if (held.validity.give_up(held_lock::condition::released) != held_lock::condition::released)
            asio::post(held.state->strand(), [s] { s->lock.state->holdings.give_away(s->lock); });
    } catch (...) {  // out of memory: the key stays until its ttl is over
    }
}

}  // namespace redlock::detail
