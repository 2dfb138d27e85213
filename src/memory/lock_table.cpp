#include "memory/lock_table.hpp"

#include "core/fencing.hpp"
#include "core/key.hpp"
#include "core/turn.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace redlock::detail {

namespace {

constexpr std::size_t wanted_max = 100;  // it is enough to know that there are some

std::chrono::milliseconds remaining(lock_table::entry const& e, clock::time_point now)
{
    return e.expires == clock::time_point::max() ? std::chrono::milliseconds(-1)
                                                 : std::chrono::duration_cast<std::chrono::milliseconds>(e.expires - now);
}

}  // namespace

lock_table::entry* lock_table::find(std::string_view key, clock::time_point now)
{
    auto const it = entries.find(key);
    if (it == entries.end())
        return nullptr;
    if (it->second.expires > now)
        return &it->second;
    entries.erase(it);
    return nullptr;
}

// Whether a tombstone says that the key must not be set to the value any more.
bool lock_table::is_dead(node_operation const& o, clock::time_point now) const
{
    auto const t = tombstones.find({std::string(o.key), std::string(o.value)});
    return t != tombstones.end() && t->second > now;
}

// Whether it was lower.
bool lock_table::raise_counter(node_operation const& o)
{
    if (o.fence == 0)
        return false;
    auto& counter = counters[std::string(o.key)];
    return o.fence > std::exchange(counter, std::max(counter, o.fence));
}

// Whether others want the key, too, of one that is granted.
bool lock_table::note_contender(node_operation const& o, bool granted, clock::time_point now)
{
    auto const known = wanted.find(o.key);
    if (known != wanted.end() && granted)
        known->second.first.erase(std::string(o.contender));
    if (known != wanted.end() && (known->second.first.empty() || known->second.second <= now))
        wanted.erase(known);
    if (granted)
        return wanted.contains(o.key);
    auto& [who, until] = wanted[std::string(o.key)];
    if (who.size() < wanted_max) {
        auto const* const e = find(o.key, now);
        who.emplace(o.contender);
        until = std::max(until, (e && e->expires != clock::time_point::max() ? e->expires : now) + core::wanted_life);
    }
    return false;
}

// More of this process follow, or nobody.
void lock_table::begin_turn(node_operation const& o, clock::time_point now)
{
    if (!o.turn)
        return end_turn(o.key);
    auto const [t, is_new] = turns.emplace(o.key, now + core::wanted_life);
    if (!is_new && t->second <= now)
        t->second = now + core::wanted_life;
}

void lock_table::end_turn(std::string_view key)
{
    auto const t = turns.find(key);
    if (t == turns.end())
        return;
    turns.erase(t);
    tell(core::turn_key(key));
}

void lock_table::watch(std::string key, void const* who, std::function<void(std::string const&)> changed)
{
    auto& list = watchers[std::move(key)];
    std::erase_if(list, [&](auto& w) { return w.first == who; });
    list.emplace_back(who, std::move(changed));
}

void lock_table::tell(std::string_view key)
{
    auto const known = watchers.find(key);
    if (known == watchers.end())
        return;
    auto const told = watchers.extract(known);
    for (auto const& [who, changed] : told.mapped())
        changed(told.key());
}

node_reply lock_table::carry_out(node_operation const& o, clock::time_point now)
{
    if (!watchers.contains(o.key))
        return apply(o, now);
    auto const state = [&] {
        auto const* const e = find(o.key, now);
        return e ? std::optional(std::pair(e->value, e->expires)) : std::nullopt;
    };
    auto const before = state();
    auto r = apply(o, now);
    if (state() != before)
        tell(o.key);
    return r;
}

node_reply lock_table::apply(node_operation const& o, clock::time_point now)
{
    auto* const e = find(o.key, now);
    bool const ours = e && e->value == o.value;
    auto const vote_if = [](bool yes) { return yes ? vote::granted : vote::denied; };
    node_reply r;
    switch (o.what) {
    case node_operation::kind::acquire: {
        r.vote = vote_if(!e);
        if (!e)
            entries.insert_or_assign(std::string(o.key), entry{std::string(o.value), now + o.ttl});
        bool const taken = raise_counter(o);
        r.fence = !e && taken ? o.fence : 0;
        if (!o.looks_for_others())
            break;
        r.wanted = note_contender(o, !e, now);
        if (e) {
            r.remaining = remaining(*e, now);
            auto const t = turns.find(o.key);
            r.turn = t != turns.end() && t->second > now;
            if (r.turn && (r.remaining.count() < 0 || t->second < e->expires))
                r.remaining = remaining({{}, t->second}, now);
        } else {
            begin_turn(o, now);
        }
        break;
    }
    case node_operation::kind::raise:
        raise_counter(o);
        r.vote = vote::granted;
        r.fence = ++counters[std::string(o.key)];
        break;
    case node_operation::kind::extend:
        r.vote = vote_if(ours);
        r.healed = !e && o.heal && !is_dead(o, now);
        if (ours && e->expires != clock::time_point::max())
            e->expires = std::max(e->expires, now + o.ttl);
        if (r.healed)
            entries.insert_or_assign(std::string(o.key), entry{std::string(o.value), now + o.ttl});
        break;
    case node_operation::kind::release:
        r.vote = vote_if(ours);
        if (ours)
            entries.erase(entries.find(o.key));
        if (ours && o.turn)
            end_turn(o.key);
        if (auto const on = o.unanswered_on(); on != 0 && on != o.sent_on())
            tombstones.insert_or_assign({std::string(o.key), std::string(o.value)}, now + core::tombstone_life);
        break;
    case node_operation::kind::inspect:
        r.vote = vote_if(e);
        if (e) {
            r.text = e->value;
            r.remaining = remaining(*e, now);
        }
        break;
    case node_operation::kind::connect:
        r.vote = vote::granted;
        break;
    }
    return r;
}

}  // namespace redlock::detail
