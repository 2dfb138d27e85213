#include "locks/waiters.hpp"

#include "events/member_counters.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace redlock::inline v1::locks {

// The queue

// A holder must not wait for a waiter that waits for it. A set waits only for names that come after all that its owner
// holds. So along a chain of waiters the held names come later and later, and the chain is never a circle.
waiters::queue::iterator waiters::queue::place_of(waiter const& who)
{
    auto const holds_less = sets.upper_bound(who.holds_up_to());
    return holds_less == sets.end() ? end() : holds_less->second;
}

waiters::place::place(waiters& all, std::span<std::string const> resources, waiter& who)
    : all_(all), any_(who.wants_any()), wants_alone_(!who.shares())
{
    places_.reserve(resources.size());
    try {
        for (auto const& r : resources) {
            line last{&who};  // allocated first: a queue is never empty
            auto& q = all.queues_[r];
            auto const behind = q.place_of(who);
            auto const at = last.begin();
            q.splice(behind, last);
            places_.push_back({r, q, at});
            q.alone += wants_alone_ ? 1 : 0;
            if (who.wants_several())
                places_.back().set = q.sets.emplace(who.holds_up_to(), at);
            if (q.begin() == at && behind != q.end())
                (*behind)->wake();  // it was the first until now
            else if (at != q.begin() && (*std::prev(at))->wants_several())
                q.front()->wake();  // it may let this one pass
        }
    } catch (...) {  // out of memory
        leave();
        throw;
    }
    events::bump<std::size_t>(all_.size_, 1);
}

waiters::place::~place()
{
    events::bump<std::size_t>(all_.size_, -1);
    leave();
}

void waiters::place::leave()
{
    stops();
    for (auto const& p : places_) {
        bool const was_first = p.first();
        if (p.set)
            p.queue.sets.erase(*p.set);
        p.queue.erase(p.at);
        if (p.queue.empty())
            all_.queues_.erase(p.resource);
        else if (was_first)
            p.queue.front()->wake();
    }
}

void waiters::place::stops() noexcept
{
    if (std::exchange(stopped_, true) || !wants_alone_)
        return;
    for (auto const& p : places_)
        --p.queue.alone;
}

void waiters::place::step_back()
{
    for (auto& p : places_) {
        bool const was_first = p.first();
        if (p.set) {  // behind sets whose owners hold as much
            auto set = p.queue.sets.extract(*p.set);
            p.set = p.queue.sets.insert(std::move(set));
        }
        p.queue.splice(p.queue.place_of(**p.at), p.queue, p.at);
        if (was_first && !p.first())
            p.queue.front()->wake();
    }
}

void waiters::place::got(std::span<std::string const> resources)
{
    for (auto const& p : places_) {
        if (std::binary_search(resources.begin(), resources.end(), p.resource))
            p.queue.begin_phase((*p.at)->shares() ? mode::shared : mode::exclusive);
    }
}

// Exclusive waiters keep their order, so sets have the same order in all queues. Afterwards, each waiter whose owner
// holds more than a set's owner moves in front of that set again.
void waiters::queue::begin_phase(mode m)
{
    if (std::exchange(phase, m) == m)
        return;
    bool const shares = m == mode::shared;
    sort([shares](auto* one, auto* other) { return one->shares() == shares && other->shares() != shares; });
    waiter const* set = nullptr;  // the last set seen so far; its owner holds least
    for (auto it = begin(); !sets.empty() && it != end();) {
        auto const who = it++;
        if ((*who)->wants_several())
            set = *who;
        else if (set && set->holds_up_to() < (*who)->holds_up_to())
            splice(place_of(**who), *this, who);
    }
}

std::size_t waiters::place::let_pass(std::size_t left, std::function<bool(std::string const&)> const& is_free)
{
    auto const may_pass = [](waiter const& w) { return !w.wants_several(); };  // sets must keep their order
    std::size_t passed = 0;
    for (auto const& p : places_) {
        if (passed == left || !p.first())
            continue;
        auto next = std::next(p.at);
        // The search is limited, because the queue may be long.
        for (auto far = left - passed; far > 1 && next != p.queue.end() && !may_pass(**next); --far)
            ++next;
        if (next == p.queue.end() || !may_pass(**next) || !is_free(p.resource))
            continue;
        p.queue.splice(p.at, p.queue, next);
        p.queue.front()->wake();
        ++passed;
    }
    return passed;
}

void waiters::place::met(error_code outcome, std::shared_ptr<quorum::round> asked)
{
    // After a validity that was too short, the others see only contention: they may ask for a longer ttl.
    for (auto const& p : places_) {
        if (!p.first())  // it did not ask for this resource
            continue;
        p.queue.met = outcome == errc::validity_exhausted ? make_error_code(errc::contended) : outcome;
        p.queue.asked = asked;
        all_.tell_observers(p.resource, outcome, asked.get());
    }
}

bool waiters::place::first() const
{
    return any_ ? std::any_of(places_.begin(), places_.end(), [](auto& in) { return in.first(); })
                : in_the_way() == nullptr;
}

std::size_t waiters::place::ahead() const
{
    std::size_t most = 0;
    for (auto const& p : places_) {
        // Walks to both ends at once, because most waiters are near one of them.
        std::size_t steps = 0;
        auto before = p.at;
        for (auto behind = std::next(p.at); before != p.queue.begin() && behind != p.queue.end(); ++behind, --before)
            ++steps;
        most = std::max(most, before == p.queue.begin() ? steps : p.queue.size() - 1 - steps);
    }
    return most;
}

waiters::queue const* waiters::place::in_the_way() const
{
    auto const p = std::find_if(places_.begin(), places_.end(), [](auto& in) { return !in.first(); });
    return p == places_.end() ? nullptr : &p->queue;
}

waiters::queue const& waiters::place::latest() const
{
    auto const* const q = in_the_way();
    return q ? *q : places_.front().queue;
}

waiters::queue const* waiters::find(std::string_view resource) const
{
    if (queues_.empty())  // the usual case
        return nullptr;
    auto const q = queues_.find(resource);
    return q == queues_.end() ? nullptr : &q->second;
}

void waiters::observe(std::string const& resource, std::weak_ptr<queue_observer> who) noexcept
try {
    if (audiences_.size() >= forget_audiences_at_) {
        auto const is_gone = [](auto& w) { return w.expired(); };
        std::erase_if(audiences_, [&](auto& a) {
            return std::ranges::all_of(a.second.told, is_gone) && std::ranges::all_of(a.second.others, is_gone);
        });
        forget_audiences_at_ = std::max<std::size_t>(64, 2 * audiences_.size());
    }
    audiences_[resource].add(std::move(who));
} catch (...) {  // out of memory: the observer gets no events
}

void waiters::audience::add(std::weak_ptr<queue_observer> who)
{
    if (told.size() + others.size() >= forget_at) {
        auto const is_gone = [](auto& w) { return w.expired(); };
        std::erase_if(told, is_gone);
        std::erase_if(others, is_gone);
        forget_at = std::max<std::size_t>(64, 2 * (told.size() + others.size()));
    }
    told.erase(who);
    others.insert(std::move(who));
}

void waiters::audience::tell(error_code what, quorum::round const* asked)
{
    if (std::exchange(outcome, what) != what)
        others.merge(told);
    for (auto const& w : others) {
        if (auto const alive = w.lock())
            alive->met(what, asked);
    }
    told.merge(others);
}

void waiters::tell_observers(std::string const& resource, error_code outcome, quorum::round const* asked) noexcept
{
    if (audiences_.empty())  // the usual case
        return;
    if (auto const a = audiences_.find(resource); a != audiences_.end())
        a->second.tell(outcome, asked);
}

bool waiters::others_queue(std::span<std::string const> resources) const
{
    return std::any_of(resources.begin(), resources.end(), [this](auto& r) {
        auto const* const q = find(r);
        return q && q->size() > 1;
    });
}

bool waiters::wanted_alone(std::string_view resource) const
{
    auto const* const q = find(resource);
    return q && q->alone > 0;
}

void waiters::changed(core::watched of, std::size_t node, std::string_view resource)
{
    if (auto const* const q = find(resource); q && q->front()->awaits(of, node, resource))
        q->front()->may_be_free(of, node, resource);
}

void waiters::deleted(std::size_t node, std::string_view resource)
{
    if (auto const* const q = find(resource))
        q->front()->may_be_free(core::watched::lock, node, resource);
}

void waiters::all_changed(std::size_t node)
{
    for (auto& [resource, q] : queues_)
        q.front()->may_be_free(core::watched::lock, node, {});
}

// Batches of hand-overs

void waiters::others_want(std::span<std::string const> resources, clock::duration round_trip, bool in_vain,
                          clock::time_point now, std::uint64_t random)
{
    for (auto const& resource : resources) {
        auto const known = shared_.find(resource);
        if (known != shared_.end() && known->second.goes_on())
            continue;
        auto yield = core::yield_time(round_trip, random);
        if (known != shared_.end() && in_vain)  // the others need more time
            yield = std::max(yield, std::min<clock::duration>(2 * known->second.yield, core::yield_max));
        auto const* const q = find(resource);
        auto const waiting = q ? q->size() - 1 : 0;  // without the current holder
        if (shared_.size() >= forget_at_) {
            std::erase_if(shared_, [now](auto& s) { return s.second.forgotten_at <= now; });
            forget_at_ = std::max<std::size_t>(1024, 2 * shared_.size());
        }
        shared_.insert_or_assign(
            resource, sharing{.left = {waiting, max_handovers_}, .yield = yield, .forgotten_at = now + sharing_life});
    }
}

bool waiters::freed(std::string const& resource, clock::time_point now)
{
    if (queues_.empty() && shared_.empty())  // the usual case
        return false;
    auto const q = queues_.find(resource);
    bool follows = false;
    if (q != queues_.end()) {
        // A waiter for several resources may have to wait for the others of them. A waiter for any of several may get
        // another one. Neither is a hand-over.
        auto const next = std::find_if(q->second.begin(), q->second.end(), [](auto* w) { return !w->stopped(); });
        follows = next != q->second.end() && (*next)->takes_over();
    }
    auto const s = shared_.find(resource);
    if (s != shared_.end() && s->second.goes_on() && !(follows && s->second.left.next())) {
        follows = false;
        s->second.yields_until = now + s->second.yield;
    }
    if (q != queues_.end())
        q->second.front()->wake();
    return follows;
}

void waiters::shared_again(std::string_view resource)
{
    if (auto const* const q = find(resource))
        q->front()->wake();
}

std::optional<clock::time_point> waiters::yields_until(std::span<std::string const> resources,
                                                       clock::time_point now) const
{
    std::optional<clock::time_point> until;
    for (auto const& resource : resources) {
        if (auto const s = shared_.find(resource);
            s != shared_.end() && !s->second.goes_on() && s->second.yields_until > now)
            until = std::max(until, std::optional(s->second.yields_until));
    }
    return until;
}

}  // namespace redlock::locks
