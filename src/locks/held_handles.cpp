// The functions of handle_state.hpp: they need the held lock, whose header needs handle_state.hpp.

#include "locks/held_lock.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace redlock::inline v1::locks {

namespace {

handle_state& handle_of(lock_handle const& part) noexcept { return *detail::access::handle_of(part); }

bool was_lost(held_lock const& l) noexcept
{
    return l.validity.is(held_lock::condition::lost) || l.was_released_late();
}

}  // namespace

handle_state::handle_state(std::shared_ptr<held_lock> l, std::shared_ptr<scope_share> of_scope) noexcept
    : lock(*l), keep_(std::move(l)), of_scope_(std::move(of_scope)), given_back_(!join())
{
}

handle_state::handle_state(resource_set names, std::vector<lock_handle> parts)
    : lock(handle_of(parts.front()).lock), composition_(new composition{std::move(names), std::move(parts)})
{
}

bool handle_state::join() noexcept
{
    if (of_scope_ && !of_scope_->handles.one_more())
        return false;
    if (lock.handles.count.one_more())
        return true;
    leave_scope();
    return false;
}

std::span<lock_handle const> handle_state::parts() const noexcept
{
    return composition_ ? std::span<lock_handle const>(composition_->parts) : std::span<lock_handle const>();
}

resource_set const& handle_state::resources() const noexcept
{
    return composition_ ? composition_->names : lock.resources;
}

bool handle_state::held() const noexcept
{
    auto const all = parts();
    return !given_back()
           && (all.empty() ? lock.held() : std::all_of(all.begin(), all.end(), [](auto& p) { return p.held(); }));
}

clock::time_point handle_state::valid_until() const noexcept
{
    auto until = lock.valid_until();
    for (auto const& p : parts())
        until = std::min(until, p.valid_until());
    return until;
}

std::string_view handle_state::lost_because() const noexcept
{
    for (auto const& p : parts()) {
        if (auto const& l = handle_of(p).lock; was_lost(l))
            return l.lost_because();
    }
    return was_lost(lock) ? std::string_view(lock.lost_because()) : std::string_view();
}

handle_state::end handle_state::give_back() noexcept
{
    if (given_back_.exchange(true))
        return end::before;
    end_body();
    if (composition_)
        return end::in_parts;
    leave_scope();
    return lock.handles.count.one_less() ? end::last : end::one_of_several;
}

bool handle_state::end_alone() noexcept
{
    if (!lock.handles.count.end_the_only_one())
        return false;
    if (!given_back_.exchange(true)) {
        end_body();
        leave_scope();
    }
    return true;
}

void handle_state::leave_scope() noexcept
{
    if (of_scope_)
        of_scope_->handles.one_less();
}

// Another thread may give the handle back at the same time. Whichever call comes second ends the body.
void handle_state::runs_body() noexcept
{
    has_body_ = true;
    if (given_back())
        end_body();
}

void handle_state::end_body() noexcept
{
    if (has_body_.exchange(false))
        --lock.handles.bodies;
}

void runs_body(handle_state& s)
{
    if (s.parts().empty())
        s.lock.runs_body(s);
    for (auto const& p : s.parts())
        handle_of(p).lock.runs_body(handle_of(p));
}

std::shared_ptr<handle_state> another_handle(std::shared_ptr<handle_state> const& s)
{
    if (!s || s->given_back())
        return nullptr;
    if (s->parts().empty())
        return s->lock.another_handle(s->of_scope());
    std::vector<lock_handle> parts;
    for (auto const& p : s->parts()) {
        parts.push_back(detail::access::make_handle(another_handle(detail::access::handle_of(p))));
        if (parts.back().empty())
            return nullptr;
    }
    return std::make_shared<handle_state>(s->resources(), std::move(parts));
}

void tell_waits_of(std::shared_ptr<handle_state> const& s)
{
    asio::post(s->lock.state->strand(), [s] {
        s->lock.handles.end_waits_of(*s);
        s->lock.others_changed();
    });
}

void give_back(std::shared_ptr<handle_state> const& s) noexcept
{
    auto& held = s->lock;
    auto const end = s->give_back();
    if (end == handle_state::end::in_parts) {
        for (auto const& p : s->parts())
            give_back(detail::access::handle_of(p));
        return;
    }
    if (end == handle_state::end::before || held.state->abandoned())
        return;
    try {
        if (end == handle_state::end::one_of_several)
            return tell_waits_of(s);
        if (held.validity.give_up(held_lock::condition::released) != held_lock::condition::released)
            asio::post(held.state->strand(), [s] { s->lock.state->held_locks.give_away(s->lock); });
    } catch (...) {  // out of memory: the key stays until its ttl is over
    }
}

}  // namespace redlock::locks
