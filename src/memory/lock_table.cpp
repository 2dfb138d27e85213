#include "memory/lock_table.hpp"

#include "core/fencing.hpp"
#include "core/key.hpp"
#include "core/handovers.hpp"

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
bool lock_table::is_dead(node_command const& c, clock::time_point now) const
{
    auto const t = tombstones.find({c.key(), std::string(c.value)});
    return t != tombstones.end() && t->second > now;
}

// Whether it was lower.
bool lock_table::raise_counter(node_command const& c)
{
    if (c.fence == 0)
        return false;
    auto& counter = counters[c.key()];
    return c.fence > std::exchange(counter, std::max(counter, c.fence));
}

// Whether others want the key, too, of one that is granted.
bool lock_table::note_contender(node_command const& c, bool granted, clock::time_point now)
{
    auto const known = wanted.find(c.key());
    if (known != wanted.end() && granted)
        known->second.first.erase(std::string(c.contender));
    if (known != wanted.end() && (known->second.first.empty() || known->second.second <= now))
        wanted.erase(known);
    if (granted)
        return wanted.contains(c.key());
    auto& [who, until] = wanted[c.key()];
    if (who.size() < wanted_max) {
        auto const* const e = find(c.key(), now);
        who.emplace(c.contender);
        until = std::max(until, (e && e->expires != clock::time_point::max() ? e->expires : now) + core::wanted_life);
    }
    return false;
}

// More of this process follow, or nobody.
void lock_table::begin_turn(node_command const& c, clock::time_point now)
{
    if (c.handed_on != node_command::handovers::follow)
        return end_turn(c.key());
    auto const [t, is_new] = turns.emplace(c.key(), now + core::wanted_life);
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

void lock_table::tell(std::string_view key, void const* except)
{
    auto const known = watchers.find(key);
    if (known == watchers.end())
        return;
    auto const told = watchers.extract(known);
    for (auto const& [who, changed] : told.mapped()) {
        if (who != except || !except)
            changed(told.key());
    }
}

node_reply lock_table::carry_out(node_command const& c, clock::time_point now, bool tombstone, void const* who)
{
    if (!watchers.contains(c.key()))
        return apply(c, now, tombstone);
    auto const state = [&] {
        auto const* const e = find(c.key(), now);
        return e ? std::optional(std::pair(e->value, e->expires)) : std::nullopt;
    };
    auto const before = state();
    auto r = apply(c, now, tombstone);
    if (state() != before)
        tell(c.key(), who);
    return r;
}

node_reply lock_table::apply(node_command const& c, clock::time_point now, bool tombstone)
{
    auto* const e = find(c.key(), now);
    bool const ours = e && e->value == c.value;
    auto const vote_if = [](bool yes) { return yes ? vote::granted : vote::denied; };
    node_reply r;
    auto const life = std::min(c.ttl, session);
    switch (c.what) {
    case node_command::kind::acquire: {
        r.vote = vote_if(!e);
        if (!e)
            entries.insert_or_assign(c.key(), entry{std::string(c.value), now + life});
        bool const taken = raise_counter(c);
        r.fence = !e && taken ? c.fence : 0;
        if (!c.contends())
            break;
        r.wanted = note_contender(c, !e, now);
        if (e) {
            r.remaining = remaining(*e, now);
            auto const t = turns.find(c.key());
            r.handed_on = t != turns.end() && t->second > now;
            if (r.handed_on && (r.remaining.count() < 0 || t->second < e->expires))
                r.remaining = remaining({{}, t->second}, now);
        } else {
            begin_turn(c, now);
        }
        break;
    }
    case node_command::kind::raise:
        raise_counter(c);
        r.vote = vote::granted;
        r.fence = ++counters[c.key()];
        break;
    case node_command::kind::extend:
        r.vote = vote_if(ours);
        r.healed = !e && c.heal && !is_dead(c, now);
        if (ours && e->expires != clock::time_point::max())
            e->expires = std::max(e->expires, now + life);
        if (r.healed)
            entries.insert_or_assign(c.key(), entry{std::string(c.value), now + life});
        break;
    case node_command::kind::release:
        r.vote = vote_if(ours);
        if (ours)
            entries.erase(entries.find(c.key()));
        if (ours && c.handed_on == node_command::handovers::end)
            end_turn(c.key());
        if (tombstone)
            tombstones.insert_or_assign({c.key(), std::string(c.value)}, now + core::tombstone_life);
        break;
    case node_command::kind::inspect:
        r.vote = vote_if(e);
        if (e) {
            r.text = e->value;
            r.remaining = remaining(*e, now);
        }
        break;
    case node_command::kind::connect:
        r.vote = vote::granted;
        break;
    }
    if (r.vote == vote::granted && life < c.ttl)
        r.good_for = life;
    return r;
}

}  // namespace redlock::detail
