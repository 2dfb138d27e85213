#include "locks/local_turn.hpp"

#include "core/handovers.hpp"

#include <algorithm>
#include <utility>

namespace redlock::inline v1::locks {

void local_turn::enter(waiters::place& p)
{
    place_ = &p;
    auto const& m = request_.manager;
    history_.drawn = m.waiters.should_contend(m.runtime.random()[0]);
}

core::history local_turn::history() const
{
    auto h = history_;
    h.others_queue = request_.manager.waiters.others_queue(request_.names());
    return h;
}

// A reader without `wait` is not queued, but yields to queued writers. At the end of a wait, a queued reader is kept
// out if this manager itself excludes it, for example by an upgrade that waits.
bool local_turn::keeps_reader_out(bool is_over) const
{
    auto const& m = request_.manager;
    if (!place_)
        return m.waiters.wanted_alone(request_.names().front());
    return is_over && m.held_locks.held_until(request_.names(), mode::shared);
}

std::shared_ptr<handle_state> local_turn::join()
{
    bool const is_next = request_.options.mode == mode::shared && !is_behind();
    auto joined = is_next ? request_.manager.held_locks.join(request_.names().front(), request_.options, called_,
                                                             passes_writers())
                          : nullptr;
    if (joined && place_)
        place_->got(request_.names());
    return joined;
}

std::optional<clock::time_point> local_turn::give_way(clock::time_point now)
{
    if (!place_)
        return std::nullopt;
    if (is_behind()) {
        history_.queued = true;
        return clock::time_point::max();
    }
    // While this manager itself holds or yields the lock, the nodes need not be asked.
    auto const& m = request_.manager;
    auto const held_until = m.held_locks.held_until(request_.names(), request_.mode_on_nodes());
    auto const until = request_.wants_any() ? kept_from_all(now)
                       : held_until         ? held_until
                                            : m.waiters.yields_until(request_.names(), now);
    if (until) {
        (held_until ? history_.queued : history_.yielded) = true;
        if (request_.shares() && m.held_locks.held_alone(request_.resources()))
            place_->kept_out(now);
        tell_those_behind(errc::contended, {});
    }
    return until;
}

void local_turn::let_others_pass(free_watch const& watch, bool grows)
{
    auto const& m = request_.manager;
    auto const is_free = [&](auto& resource) {
        bool const is_ours = m.held_locks.held_until({&resource, 1}, mode::exclusive).has_value();
        return !is_ours && !(watch.active() && watch.needs(resource, grows));
    };
    if (place_ && request_.wants_several())
        passed_ += place_->let_pass(core::passes_max - passed_, is_free);
}

// A set keeps waiting when others have passed it for its free resources. It is overtaken only for a resource that it
// awaits.
bool local_turn::is_overtaken(quorum::round const& asked) const
{
    if (!is_behind() || !request_.wants_several())
        return is_behind();
    return std::ranges::any_of(asked.ballots, [this](auto& b) {
        return std::ranges::any_of(awaited(b), [this](auto& key) { return !place_->first_for(key.index); });
    });
}

// If a holder excluded this reader, waiting writers come after it and after all readers that queue with it. Otherwise
// readers could starve.
void local_turn::denied(quorum::round const& lost, clock::time_point now)
{
    auto const by_a_holder = [](auto& b) {
        return b.answered && b.reply.vote == vote::denied && !b.reply.behind_writer;
    };
    if (place_ && request_.shares() && std::ranges::any_of(lost.ballots, by_a_holder))
        place_->kept_out(now);
}

std::optional<clock::time_point> local_turn::kept_from(std::size_t i, clock::time_point now) const
{
    if (place_ && !place_->first_for(i))
        return clock::time_point::max();
    auto const& m = request_.manager;
    auto const name = request_.names().subspan(i, 1);
    auto const held_until = m.held_locks.held_until(name, mode::exclusive);
    return held_until || !place_ ? held_until : m.waiters.yields_until(name, now);
}

// Returns nothing if the acquisition may ask for one of the resources.
std::optional<clock::time_point> local_turn::kept_from_all(clock::time_point now) const
{
    auto first = clock::time_point::max();
    for (std::size_t i = 0; i < request_.names().size(); ++i) {
        auto const until = kept_from(i, now);
        if (!until)
            return std::nullopt;
        first = std::min(first, *until);
    }
    return first;
}

clock::time_point local_turn::another_choice_at(quorum::round const& asked, clock::time_point now) const
{
    auto const names = request_.names();
    auto first = clock::time_point::max();
    bool const asks_for_all = !request_.wants_any() || asked.command.keys.size() == names.size();
    for (std::size_t i = 0; !asks_for_all && i < names.size(); ++i) {
        if (!request_.is_asked(asked, names[i]))
            first = std::min(first, kept_from(i, now).value_or(now));
    }
    return first;
}

clock::time_point local_turn::first_held_until() const
{
    auto first = clock::time_point::max();
    for (std::size_t i = 0; i < request_.names().size(); ++i)
        first = std::min(
            first,
            request_.manager.held_locks.held_until(request_.names().subspan(i, 1), mode::exclusive).value_or(first));
    return first;
}

}  // namespace redlock::locks
