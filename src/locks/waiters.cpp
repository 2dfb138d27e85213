#include "locks/waiters.hpp"

#include "runtime/counter.hpp"

#include <algorithm>
#include <utility>

namespace redlock::detail {

// The queue

waiters::place::place(waiters& all, std::string const& resource, waiter& who, error_code at_first)
    : all_(all), resource_(resource), who_(who), queue_(all.queues_[resource]), at_(queue_.insert(queue_.end(), &who))
{
    if (queue_.size() == 1)
        queue_.met = at_first;
    bump<std::size_t>(all_.size_, 1);
}

waiters::place::~place()
{
    bump<std::size_t>(all_.size_, -1);
    bool const was_first = first();
    queue_.erase(at_);
    if (queue_.empty())
        all_.queues_.erase(resource_);
    else if (was_first)
        queue_.front()->wake();
}

void waiters::place::step_back()
{
    bool const was_first = first();
    queue_.splice(queue_.end(), queue_, at_);
    if (was_first && !first())
        queue_.front()->wake();
}

void waiters::place::met(error_code outcome, std::shared_ptr<round> asked)
{
    // A validity that was too short is its own affair: others may ask for longer.
    queue_.met = outcome == errc::validity_exhausted ? make_error_code(errc::contended) : outcome;
    queue_.asked = std::move(asked);
}

bool waiters::others_queue(std::string const& resource) const
{
    auto const q = queues_.find(resource);
    return q != queues_.end() && q->second.size() > 1;
}

void waiters::changed(std::size_t node, std::string_view resource, bool handovers)
{
    auto const q = queues_.find(std::string(resource));
    if (q != queues_.end() && q->second.front()->awaits_handovers(node) == handovers)
        q->second.front()->may_be_free(node);
}

void waiters::all_changed(std::size_t node)
{
    for (auto& [resource, q] : queues_)
        q.front()->may_be_free(node);
}

// Batches of hand-overs

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
    auto const q = queues_.find(resource);
    bool follows = q != queues_.end() && std::any_of(q->second.begin(), q->second.end(), [](auto* w) { return !w->stopped(); });
    auto const s = shared_.find(resource);
    if (s != shared_.end() && s->second.goes_on() && !(follows && s->second.left.next())) {
        follows = false;
        s->second.yields_until = now + s->second.yield;
    }
    if (q != queues_.end())
        q->second.front()->wake();
    return follows;
}

std::optional<clock::time_point> waiters::yields_until(std::string const& resource, clock::time_point now) const
{
    auto const s = shared_.find(resource);
    if (s == shared_.end() || s->second.goes_on() || s->second.yields_until <= now)
        return std::nullopt;
    return s->second.yields_until;
}

}  // namespace redlock::detail
