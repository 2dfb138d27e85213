#include "stores/kit/expiries.hpp"

#include "core/handovers.hpp"

#include <algorithm>

namespace redlock::stores::kit {

namespace {

leased lock_of(std::string const& key, node_command const& c)
{
    return {leased::kind::lock, key, std::string(c.value)};
}

leased wanted_of(std::string const& key, node_command const& c)
{
    return {leased::kind::wanted, key, std::string(c.contender())};
}

}  // namespace

void expiries::extend(leased const& l, clock::time_point until, std::chrono::milliseconds ttl, clock::time_point kept)
{
    auto const at = known_.emplace(l, entry{until, ttl, kept}).first;
    auto const& e = at->second;
    change(at, {std::max(e.until, until), std::max(e.ttl, ttl), std::min(e.kept, kept)});
}

void expiries::keep(leased const& l, clock::time_point kept)
{
    if (auto const at = known_.find(l); at != known_.end())
        change(at, {at->second.until, at->second.ttl, kept});
}

void expiries::change(known::iterator at, entry e)
{
    leave(at);
    at->second = e;
    order_.emplace(e.until, &at->first);
    if (e.kept < e.until)
        outliving_.emplace(e.kept, &at->first);
}

void expiries::leave(known::iterator at)
{
    order_.erase({at->second.until, &at->first});
    outliving_.erase({at->second.kept, &at->first});
}

void expiries::forget(leased const& l)
{
    auto const at = known_.find(l);
    if (at == known_.end())
        return;
    leave(at);
    known_.erase(at);
}

void expiries::clear()
{
    order_.clear();
    outliving_.clear();
    known_.clear();
}

clock::time_point expiries::until(leased const& l) const
{
    auto const known = known_.find(l);
    return known == known_.end() ? clock::time_point::min() : known->second.until;
}

std::chrono::milliseconds expiries::ttl(leased const& l) const
{
    auto const known = known_.find(l);
    return known == known_.end() ? std::chrono::milliseconds(0) : known->second.ttl;
}

clock::time_point expiries::next() const { return order_.empty() ? clock::time_point::max() : order_.begin()->first; }

std::vector<leased> expiries::take_due(clock::time_point now)
{
    std::vector<leased> due;
    while (!order_.empty() && order_.begin()->first <= now) {
        due.push_back(*order_.begin()->second);
        order_.erase(order_.begin());
    }
    return due;
}

std::vector<std::string> expiries::locks() const
{
    std::vector<std::string> keys;
    for (auto const& [l, e] : known_) {
        if (l.what == leased::kind::lock)
            keys.push_back(l.key);
    }
    return keys;
}

clock::time_point expiries::kept(leased const& l) const
{
    auto const at = known_.find(l);
    return at == known_.end() ? clock::time_point::min() : at->second.kept;
}

clock::time_point expiries::kept(node_command const& c) const
{
    auto all = clock::time_point::max();
    for (auto const& key : c.keys)
        all = std::min(all, kept(lock_of(key, c)));
    return all;
}

std::vector<leased> expiries::outliving(clock::time_point then, std::size_t most) const
{
    std::vector<leased> some;
    for (auto at = outliving_.begin(); at != outliving_.end() && at->first < then && some.size() < most; ++at)
        some.push_back(*at->second);
    return some;
}

void expiries::note(node_command const& c, node_reply& r, clock::time_point sent, clock::time_point kept)
{
    using kind = node_command::kind;
    bool const granted = r.vote == vote::granted, sets = c.which() == kind::acquire || c.which() == kind::extend;
    bool const may_be_set = c.which() == kind::acquire && r.vote == vote::unknown && !r.untouched;
    for (std::size_t i = 0; i < c.keys.size(); ++i) {
        auto const& key = c.keys[i];
        if (may_be_set || (sets && (granted || i < r.ours)))
            extend(lock_of(key, c), sent + c.ttl, may_be_set ? std::chrono::milliseconds(0) : c.ttl, kept);
        else if (r.vote != vote::unknown && (c.which() == kind::release || c.which() == kind::extend || c.grows()))
            forget(lock_of(key, c));
        if (c.which() == kind::extend && granted)
            keep(lock_of(key, c), kept);
        if (c.which() == kind::withdraw || (granted && c.contends()))
            forget(wanted_of(key, c));
        else if (may_be_set && c.contends())
            extend(wanted_of(key, c), sent + c.ttl, std::chrono::milliseconds(0), kept);
    }
    if (c.which() == kind::acquire && c.contends() && r.vote == vote::denied)
        note_denied(c, r, kept);
    auto const now = clock::now();
    if (c.which() != kind::inspect || !granted)
        return;
    if (auto const ours = until({leased::kind::lock, c.key(), r.text}); ours > now)
        r.remaining = std::chrono::ceil<std::chrono::milliseconds>(ours - now);
}

void expiries::note_denied(node_command const& c, node_reply const& r, clock::time_point kept)
{
    // The client deletes its entry when it wins or gives up, so this expiry is only a safeguard.
    auto const wished = [&](std::string const& key, std::chrono::milliseconds remaining) {
        auto const until = clock::now() + std::max(remaining, c.ttl) + core::wanted_life;
        extend(wanted_of(key, c), until, core::wanted_life, kept);
    };
    if (!c.has_several_keys())
        wished(c.key(), r.remaining);
    for (std::size_t i = 0; i < (c.grows() ? std::min<std::size_t>(r.taken.size(), 1) : r.taken.size()); ++i)
        wished(c.keys[r.taken[i].index], r.taken[i].remaining);
}

}  // namespace redlock::stores::kit
