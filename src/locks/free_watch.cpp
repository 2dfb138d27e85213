#include "locks/free_watch.hpp"

#include "core/backoff.hpp"
#include "core/validity.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace redlock::inline v1::locks {

using namespace std::chrono_literals;

namespace {

// Any client may have set any ttl, so the sum must not overflow. The servers report whole milliseconds, hence the 2 ms.
clock::time_point end_of(clock::time_point now, std::chrono::milliseconds remaining)
{
    return remaining.count() < 0 ? clock::time_point::max() : core::later(now + 2ms, remaining);
}

}  // namespace

std::span<taken_key const> awaited(quorum::ballot const& b)
{
    std::span<taken_key const> const taken(b.reply.taken);
    return b.command().grows() ? taken.first(std::min<std::size_t>(taken.size(), 1)) : taken;
}

void add_votes(quorum::round const& r, clock::time_point now, core::estimate<clock::time_point>& to)
{
    for (auto const& b : r.ballots) {
        if (!b.answered || b.cast() == vote::unknown)
            continue;
        if (b.reply.vote == vote::granted && b.command().wants_any())
            to.expect(b.node, b.reply.chosen, now);  // the node does not report other free keys
        else if (b.reply.vote == vote::granted)
            to.expect(b.node, now);  // this client releases the grant, or asks for it again
        else if (b.command().has_several_keys())
            for (auto const& k : awaited(b))
                to.expect(b.node, k.index, end_of(now, k.remaining));
        else if (b.command().contends())
            to.expect(b.node, end_of(now, b.reply.remaining));
    }
}

void free_watch::begin(std::shared_ptr<quorum::round> asked)
{
    estimate_.emplace(asked->quorum.nodes.size(), asked->quorum.nodes.quorum(), request_.wants_any());
    asked_ = std::move(asked);
    is_called_ = false;
}

clock::time_point free_watch::denied(clock::time_point now, std::uint64_t random, std::size_t rounds)
{
    bool const race = asked_->votes.granted() > 0;
    races_ = race ? races_ + 1 : 0;
    denied_ += race ? 0 : 1;
    read_votes(now);
    if (!race)
        note_holder(now);
    if (stands_by() || is_behind_writer())
        return now + core::stand_by(random);
    if (will_be_notified())
        return clock::time_point::max();
    // The lock may become free without a notification, so the waiter asks again after a pause.
    return now + (race ? core::pause_after(rounds, random) : core::pause_after_denial(denied_, unchanged_, random));
}

// While one holder keeps the lock, the expected end stays the same. If others have taken the lock since, the expected
// end has moved by about the time that has passed.
void free_watch::note_holder(clock::time_point now)
{
    auto const passed = now - std::exchange(denied_at_, now);
    bool const is_same = denied_ > 1 && free_at() - std::max<clock::duration>(passed / 4, 2ms) <= free_expected_;
    unchanged_ = is_same ? unchanged_ + 1 : 0;
    free_expected_ = free_at();
    auto const before = std::exchange(holder_, holder());
    bool const is_in_vain = holder_.empty() ? is_same : holder_ == before;
    bool const is_soon = passed < 2 * core::time_between_vain(std::max<std::size_t>(vain_, 2));
    vain_ = is_in_vain && is_soon ? vain_ + 1 : 0;
}

// The value of a single lock, as a node has told it.
std::string_view free_watch::holder() const
{
    for (auto const& b : asked_->ballots) {
        if (b.answered && b.reply.vote == vote::denied && !b.reply.text.empty() && !b.command().has_several_keys())
            return b.reply.text;
    }
    return {};
}

// Whether a quorum of the nodes will notify of changes. A node that granted counts, because it has nothing more to
// report. With any of several keys, its grant does not count: it was not asked to report changes of the other keys.
bool free_watch::will_be_notified() const
{
    auto const notifies = [](quorum::ballot const& b) {
        return (b.has_granted() && !b.command().wants_any()) || (b.answered && b.reply.watched);
    };
    return static_cast<std::size_t>(std::ranges::count_if(asked_->ballots, notifies)) >= asked_->quorum.nodes.quorum();
}

// Whether only a waiting writer keeps this reader out, on some node. The writer may have died. Then a node forgets it
// soon after the lock is free, but only if somebody asks.
bool free_watch::is_behind_writer() const
{
    return std::ranges::any_of(asked_->ballots, [](auto& b) { return b.answered && b.reply.behind_writer; });
}

// Whether other clients come first on all nodes, so that this one asks only when it is called. The lines of the nodes
// may differ a little. Each node has some who ask, so a free lock finds a taker.
bool free_watch::stands_by() const
{
    auto const has_answered = [](quorum::ballot const& b) { return b.answered && b.reply.vote != vote::unknown; };
    auto const is_behind = [](quorum::ballot const& b) {
        return b.reply.vote == vote::denied && b.reply.stands_by && b.reply.watched;
    };
    std::size_t behind = 0;
    for (auto const& b : asked_->ballots) {
        if (has_answered(b) && !is_behind(b))
            return false;
        behind += has_answered(b) ? 1 : 0;
    }
    return behind > 0 && !is_called_;
}

// How many waiters of other managers come first, on the node where these are fewest.
std::size_t free_watch::ahead() const
{
    constexpr auto unknown = std::numeric_limits<std::size_t>::max();
    auto least = unknown;
    for (auto const& b : asked_->ballots) {
        if (b.answered && b.reply.vote != vote::unknown)
            least = std::min<std::size_t>(least, b.reply.ahead);
    }
    return is_called_ || least == unknown ? 0 : least;
}

bool free_watch::needs(std::string_view resource, bool grows) const
{
    return std::ranges::any_of(asked_->ballots, [&](auto& b) {
        auto const kept = grows ? b.reply.ours : 0;
        return awaited_key(b.node, resource)
               || (kept > 0 && resource <= request_.name_of(asked_->command.keys[kept - 1]));
    });
}

// Returns the key of @p resource if the node reported it as taken; otherwise null.
taken_key const* free_watch::awaited_key(std::size_t node, std::string_view resource) const
{
    auto const keys = awaited(asked_->ballots[node]);
    auto const is_of_it = [&](auto& key) { return request_.name_of(asked_->command.keys[key.index]) == resource; };
    auto const k = std::ranges::find_if(keys, is_of_it);
    return k == keys.end() ? nullptr : &*k;
}

bool free_watch::awaits(core::watched of, std::size_t node, std::string_view resource) const
{
    if (!active())
        return of == core::watched::lock;
    auto const& reply = asked_->ballots[node].reply;
    bool const several = asked_->command.has_several_keys();
    auto const* const k = several ? awaited_key(node, resource) : nullptr;
    bool const handed_on = several ? k && k->handed_on : reply.handed_on;
    switch (of) {
    case core::watched::place:
        return reply.stands_by;
    case core::watched::lock:
        return !handed_on;
    case core::watched::handovers:
        return handed_on;
    case core::watched::wanted:
        return !handed_on && reply.behind_writer;
    case core::watched::readers:
        return false;
    }
    return false;
}

bool free_watch::may_be_free(core::watched of, std::size_t node, std::string_view resource)
{
    // A push that arrives before the node's answer to this round is older than the answer.
    if (!active() || !asked_->ballots[node].answered)
        return false;
    auto const& manager = request_.manager;
    if (of == core::watched::place) {
        is_called_ = true;
        for (auto const& b : asked_->ballots)
            estimate_->expect(b.node, manager.now());
        return true;
    }
    if (resource.empty() || (!asked_->command.has_several_keys() && request_.is_asked(*asked_, resource))) {
        estimate_->expect(node, manager.now());
        return !stands_by();
    }
    auto const* const k = awaited_key(node, resource);
    if (k)
        estimate_->expect(node, k->index, manager.now());
    return k != nullptr;
}

}  // namespace redlock::locks
