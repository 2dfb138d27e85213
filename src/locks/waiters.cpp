#include "locks/waiters.hpp"

#include "runtime/counter.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace redlock::detail {

// The queue

// Who holds what others wait for must not wait for them. A set waits for names that come after all that its owner holds; so, along a chain
// of those who wait for each other, what they hold comes later and later, and no chain is a circle.
std::list<waiter*>::iterator waiters::place_of(waiter const& who, queue& q)
{
    auto const holds = who.holds_up_to();
    if (holds.empty())
        return q.end();
    return std::find_if(q.begin(), q.end(), [&](auto* w) { return w->wants_several() && w->holds_up_to() < holds; });
}

waiters::place::place(waiters& all, std::span<std::string const> resources, waiter& who) : all_(all), any_(who.wants_any())
{
    places_.reserve(resources.size());
    try {
        for (auto const& r : resources) {
            std::list<waiter*> last{&who};  // first of all: a queue is never empty
            auto& q = all.queues_[r];
            auto const behind = place_of(who, q);
            auto const at = last.begin();
            q.splice(behind, last);
            places_.push_back({r, q, at});
            if (q.begin() == at && behind != q.end())
                (*behind)->wake();  // it was the first
            else if (q.size() == 2 && q.front()->wants_several())
                q.front()->wake();  // it may let this one pass
        }
    } catch (...) {  // out of memory
        leave();
        throw;
    }
    bump<std::size_t>(all_.size_, 1);
}

waiters::place::~place()
{
    bump<std::size_t>(all_.size_, -1);
    leave();
}

void waiters::place::leave()
{
    for (auto const& p : places_) {
        bool const was_first = p.first();
        p.queue.erase(p.at);
        if (p.queue.empty())
            all_.queues_.erase(p.resource);
        else if (was_first)
            p.queue.front()->wake();
    }
}

void waiters::place::step_back()
{
    for (auto const& p : places_) {
        bool const was_first = p.first();
        p.queue.splice(place_of(**p.at, p.queue), p.queue, p.at);
        if (was_first && !p.first())
            p.queue.front()->wake();
    }
}

// Those who want it alone keep their order, so that of several resources is still the same in all queues.
void waiters::place::got(std::span<std::string const> resources)
{
    for (auto const& p : places_) {
        if (!std::binary_search(resources.begin(), resources.end(), p.resource))
            continue;
        bool const shares = (*p.at)->shares();
        auto const mode = shares ? mode::shared : mode::exclusive;
        if (std::exchange(p.queue.phase, mode) == mode)
            continue;
        p.queue.sort([shares](auto* one, auto* other) { return one->shares() == shares && other->shares() != shares; });
        put_in_front_who_holds_more(p.queue);
    }
}

void waiters::put_in_front_who_holds_more(queue& q)
{
    for (auto it = q.begin(); it != q.end();) {
        auto const who = it++;
        auto const behind = place_of(**who, q);
        for (auto before = q.begin(); before != who; ++before) {
            if (before == behind) {
                q.splice(behind, q, who);
                break;
            }
        }
    }
}

std::size_t waiters::place::let_pass(std::size_t left, std::function<bool(std::string const&)> const& is_free)
{
    std::size_t passed = 0;
    for (auto const& p : places_) {
        auto const next = std::next(p.at);
        if (passed == left || !p.first() || next == p.queue.end() || (*next)->wants_several() || !is_free(p.resource))
            continue;
        p.queue.splice(p.at, p.queue, next);
        p.queue.front()->wake();
        ++passed;
    }
    return passed;
}

void waiters::place::met(error_code outcome, std::shared_ptr<round> asked)
{
    // A validity that was too short is its own affair: others may ask for longer.
    for (auto const& p : places_) {
        if (!p.first())  // so it did not ask for this one
            continue;
        p.queue.met = outcome == errc::validity_exhausted ? make_error_code(errc::contended) : outcome;
        p.queue.asked = asked;
        all_.tell_observers(p.resource, outcome, asked.get());
    }
}

bool waiters::place::first() const
{
    return any_ ? std::any_of(places_.begin(), places_.end(), [](auto& in) { return in.first(); }) : in_the_way() == nullptr;
}

std::size_t waiters::place::ahead() const
{
    std::size_t most = 0;
    for (auto const& p : places_)
        most = std::max(most, static_cast<std::size_t>(std::distance(p.queue.begin(), p.at)));
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
    if (queues_.empty())  // as a rule
        return nullptr;
    auto const q = queues_.find(resource);
    return q == queues_.end() ? nullptr : &q->second;
}

void waiters::observe(std::string const& resource, std::weak_ptr<queue_observer> who) noexcept
{
    std::erase_if(observers_, [](auto& o) { return o.second.expired(); });
    try {
        observers_.emplace(resource, std::move(who));
    } catch (...) {  // out of memory: it is told nothing
    }
}

void waiters::tell_observers(std::string const& resource, error_code outcome, round const* asked) const noexcept
{
    auto const [begin, end] = observers_.equal_range(resource);
    for (auto it = begin; it != end; ++it) {
        if (auto const alive = it->second.lock())
            alive->met(outcome, asked);
    }
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
    return q && std::any_of(q->begin(), q->end(), [](auto* w) { return !w->shares() && !w->stopped(); });
}

void waiters::changed(core::watched of, std::size_t node, std::string_view resource)
{
    if (auto const* const q = find(resource); q && q->front()->awaits(of, node, resource))
        q->front()->may_be_free(node, resource);
}

void waiters::deleted(std::size_t node, std::string_view resource)
{
    if (auto const* const q = find(resource))
        q->front()->may_be_free(node, resource);
}

void waiters::all_changed(std::size_t node)
{
    for (auto& [resource, q] : queues_)
        q.front()->may_be_free(node, {});
}

// Batches of hand-overs

void waiters::others_want(std::span<std::string const> resources, clock::duration round_trip, bool in_vain, clock::time_point now,
                          std::uint64_t random)
{
    for (auto const& r : resources)
        others_want(r, round_trip, in_vain, now, random);
}

void waiters::others_want(std::string const& resource, clock::duration round_trip, bool in_vain, clock::time_point now, std::uint64_t random)
{
    auto const known = shared_.find(resource);
    if (known != shared_.end() && known->second.goes_on())
        return;
    auto yield = core::yield_time(round_trip, random);
    if (known != shared_.end() && in_vain)  // they are farther away
        yield = std::max(yield, std::min<clock::duration>(2 * known->second.yield, core::yield_max));
    auto const q = queues_.find(resource);
    auto const waiting = q != queues_.end() ? q->second.size() - 1 : 0;  // not counting who has it now
    if (shared_.size() >= forget_at_) {
        std::erase_if(shared_, [now](auto& s) { return s.second.forgotten_at <= now; });
        forget_at_ = std::max<std::size_t>(1024, 2 * shared_.size());
    }
    shared_.insert_or_assign(resource, sharing{.left = {waiting, max_handovers_}, .yield = yield, .forgotten_at = now + sharing_life});
}

bool waiters::freed(std::string const& resource, clock::time_point now)
{
    if (queues_.empty() && shared_.empty())  // as a rule
        return false;
    auto const q = queues_.find(resource);
    bool follows = false;
    if (q != queues_.end()) {
        // Who wants several resources may have to wait for the others of them, or get another one: that is no hand-over.
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

std::optional<clock::time_point> waiters::yields_until(std::span<std::string const> resources, clock::time_point now) const
{
    std::optional<clock::time_point> until;
    for (auto const& resource : resources) {
        if (auto const s = shared_.find(resource); s != shared_.end() && !s->second.goes_on() && s->second.yields_until > now)
            until = std::max(until, std::optional(s->second.yields_until));
    }
    return until;
}

}  // namespace redlock::detail
