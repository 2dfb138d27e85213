#include "stores/memory/lock_table.hpp"

#include "core/fencing.hpp"
#include "core/handovers.hpp"
#include "core/key.hpp"
#include "core/validity.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace redlock::stores::memory {

namespace {

constexpr std::size_t wanted_max = 64, readers_max = 64;

std::chrono::milliseconds remaining(lock_table::entry const& e, clock::time_point now)
{
    return e.expires == clock::time_point::max()
               ? std::chrono::milliseconds(-1)
               : std::chrono::duration_cast<std::chrono::milliseconds>(e.expires - now);
}

node_reply counted(std::uint64_t counter)
{
    node_reply r{.vote = vote::granted};
    r.fence = counter;
    return r;
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

// Whether a tombstone forbids to set the key to this value again.
bool lock_table::has_tombstone(node_command const& c, clock::time_point now) const
{
    auto const t = tombstones.find({c.key(), std::string(c.value)});
    return t != tombstones.end() && t->second > now;
}

// @return whether all counters were lower
bool lock_table::raise_counters(node_command const& c)
{
    bool raised = c.fence() != 0;
    for (auto const& key : c.fence() != 0 ? c.keys : key_view()) {
        auto& counter = counters[key];
        raised = c.fence() > std::exchange(counter, std::max(counter, c.fence())) && raised;
    }
    return raised;
}

// @return whether other clients want the key
bool lock_table::note_granted(std::string const& key, node_command const& c, clock::time_point now, void const* who)
{
    forget_wanted(key, c.contender(), who);
    auto const known = wanted.find(key);
    if (known == wanted.end())
        return false;
    if (!known->second.first.empty() && known->second.second > now)
        return true;
    wanted.erase(known);
    return false;
}

void lock_table::forget_wanted(std::string const& key, std::string_view contender, void const* who)
{
    auto const known = wanted.find(key);
    if (known != wanted.end() && known->second.first.erase(std::string(contender)) > 0)
        tell(core::wanted_key(key), who);
}

void lock_table::note_denied(std::string const& key, node_command const& c, clock::time_point now)
{
    if (auto const known = wanted.find(key); known != wanted.end() && known->second.second <= now)
        wanted.erase(known);
    auto& [who, until] = wanted[key];
    if (who.size() < wanted_max) {
        auto const* const e = find(key, now);
        bool const to_share = c.is_shared() && c.which() == node_command::kind::acquire;
        who[std::string(c.contender())] = {to_share, to_share ? std::string() : std::string(c.note())};
        auto const life =
            core::later(e && e->expires != clock::time_point::max() ? e->expires : now, core::wanted_life);
        if (!to_share || !other_writer_waits(c, now))  // a reader must not prolong a dead writer's wait
            until = std::max(until, life);
    }
}

// The clients that ask when the lock of @p key is free. Forgets those that are no longer believed.
std::vector<std::string> lock_table::first_in_line(std::string const& key, clock::time_point now)
{
    auto& wishes = wanted[key].first;
    std::erase_if(wishes, [now](auto& w) { return w.second.until < now; });
    std::vector<std::pair<clock::time_point, std::string>> line;
    for (auto const& [who, wish] : wishes) {
        if (wish.since != clock::time_point::max())
            line.emplace_back(wish.since, who);
    }
    std::sort(line.begin(), line.end());
    std::vector<std::string> first;
    for (auto const& [since, who] : std::span(line).first(std::min<std::size_t>(line.size(), core::line_front)))
        first.push_back(who);
    return first;
}

// Notes that an acquisition of one key was denied, and enters its client into the line. @return how many are ahead of
// it
std::uint32_t lock_table::queue(node_command const& c, clock::time_point now)
{
    auto const ms = std::chrono::floor<std::chrono::milliseconds>(now);
    auto const known = wanted.find(c.key());
    auto const lasts = known != wanted.end() && known->second.second > now;
    auto const others = lasts ? known->second.first.size() : 0;
    auto since = clock::time_point(ms);
    if (lasts) {
        auto const mine = known->second.first.find(c.contender());
        bool const waits = mine != known->second.first.end() && mine->second.since != clock::time_point::max();
        if (waits)
            since = mine->second.since;
        if (others >= wanted_max && !waits)
            return 0;
    }
    note_denied(c.key(), c, now);
    auto& wish = wanted[c.key()].first[std::string(c.contender())];
    wish.note = c.note();
    wish.since = since;
    auto const* const e = find(c.key(), now);
    wish.until = core::later(e && e->expires != clock::time_point::max() ? e->expires : now, core::wanted_life);
    if (others < core::line_front)
        return 0;
    auto const first = first_in_line(c.key(), now);
    auto const ahead = std::ranges::find(first, c.contender()) - first.begin();
    if (ahead == core::line_front) {
        wish.until = now + 3 * core::wanted_life;
        places[core::place_key(c.key(), c.contender())] = wish.until;
    }
    return static_cast<std::uint32_t>(ahead);
}

// The lock of @p key was granted to a client that waited. The others move up.
void lock_table::call_first(std::string const& key, clock::time_point now)
{
    for (auto const& who : first_in_line(key, now)) {
        auto& wish = wanted[key].first[who];
        wish.until = std::min(wish.until, now + core::wanted_life);
        auto const place = places.extract(core::place_key(key, who));
        if (!place.empty() && place.mapped() > now)
            tell(place.key());
    }
}

// Begins hand-overs if more acquisitions of this process follow; otherwise ends them.
void lock_table::begin_handovers(std::string const& key, node_command const& c, clock::time_point now, void const* who)
{
    if (c.handed_on() != commands::handovers::follow)
        return end_handovers(key, who);
    auto const [t, is_new] = handovers.emplace(key, now + core::wanted_life);
    if (!is_new && t->second <= now)
        t->second = now + core::wanted_life;
}

void lock_table::end_handovers(std::string_view key, void const* who)
{
    auto const t = handovers.find(key);
    if (t == handovers.end())
        return;
    handovers.erase(t);
    tell(core::handovers_key(key), who);
}

void lock_table::watch(std::string key, void const* who, std::function<void(std::string const&)> changed)
{
    auto& list = watchers[std::move(key)];
    std::erase_if(list, [&](auto& w) { return w.first == who; });
    list.emplace_back(who, std::move(changed));
}

void lock_table::watch_taken(node_command const& c, node_reply const& denied, void const* who,
                             std::function<void(std::string const&)> changed)
{
    if (denied.stands_by)
        watch(core::place_key(c.key(), c.contender()), who, changed);
    auto const watch_one = [&](std::string const& key, bool handed_on) {
        watch(handed_on ? core::handovers_key(key) : key, who, changed);
    };
    if (c.which() == node_command::kind::upgrade && denied.ours == 0)
        return;
    if (c.which() == node_command::kind::upgrade || c.which() == node_command::kind::inspect)
        watch(core::readers_key(c.key()), who, changed);
    if (denied.behind_writer)
        watch(core::wanted_key(c.key()), who, changed);
    if (!c.has_several_keys())
        return watch_one(c.key(), denied.handed_on);
    for (auto const& k : denied.taken)
        watch_one(c.keys[k.index], k.handed_on);
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
    using state = std::optional<std::pair<std::string, clock::time_point>>;
    auto const state_of = [&](std::string const& key) {
        auto const* const e = find(key, now);
        return e ? state(std::pair(e->value, e->expires)) : state();
    };
    std::vector<std::pair<std::string const*, state>> watched;
    for (auto const& key : c.keys) {
        if (watchers.contains(key))
            watched.emplace_back(&key, state_of(key));
    }
    auto r = apply(c, now, tombstone, who);
    for (auto const& [key, before] : watched) {
        if (state_of(*key) != before)
            tell(*key, who);
    }
    return r;
}

node_reply lock_table::apply(node_command const& c, clock::time_point now, bool tombstone, void const* who)
{
    auto const carry_out = [&]() -> node_reply {
        switch (c.which()) {
        case node_command::kind::acquire:
            return c.is_shared()          ? share(c, now, who)
                   : c.wants_any()        ? acquire_any(c, now, who)
                   : c.has_several_keys() ? acquire(c, now, who)
                                          : acquire_one(c, now, who);
        case node_command::kind::raise:
            return raise(c);
        case node_command::kind::extend:
            return c.is_shared() ? extend_shared(c, now) : extend(c, now);
        case node_command::kind::replace:
            return replace(c, now);
        case node_command::kind::release:
            if (tombstone)
                tombstones.insert_or_assign({c.key(), std::string(c.value)}, now + core::tombstone_life);
            return c.is_shared() ? release_shared(c, now, who) : release(c, now, who);
        case node_command::kind::inspect:
            return inspect(c.key(), now);
        case node_command::kind::scan:
            return scan(c, now);
        case node_command::kind::upgrade:
            return upgrade(c, now, who);
        case node_command::kind::downgrade:
            return downgrade(c, now);
        case node_command::kind::withdraw:
            for (auto const& key : c.keys)
                forget_wanted(key, c.contender(), who);
            break;
        case node_command::kind::connect:
        case node_command::kind::found:
            break;
        }
        return {.vote = vote::granted};
    };
    auto r = carry_out();
    if (r.vote == vote::granted && session < c.ttl)
        r.good_for = session;
    return r;
}

node_reply lock_table::acquire_one(node_command const& c, clock::time_point now, void const* who)
{
    auto r = acquire(c, now, who);
    if (r.vote == vote::granted && r.wanted)
        call_first(c.key(), now);
    return r;
}

node_reply lock_table::acquire(node_command const& c, clock::time_point now, void const* who)
{
    node_reply r;
    if (c.grows() && has_tombstone(c, now))
        return {.vote = vote::denied};
    bool const several = c.has_several_keys();
    for (std::size_t i = 0; i < c.keys.size(); ++i) {
        if (auto const* const e = find(c.keys[i], now); e && !(c.grows() && e->value == c.value))
            r.taken.push_back(taken_key_of(c, i, *e, now));
    }
    bool const granted = r.taken.empty();
    r.vote = granted ? vote::granted : vote::denied;
    auto const ours = granted ? c.keys.size() : c.grows() ? r.taken.front().index : 0;
    for (std::size_t i = 0; i < c.keys.size(); ++i) {
        auto const& key = c.keys[i];
        if (i < ours)
            raise_ttl_or_set(key, c, now);
        else if (auto const* const e = find(key, now); c.grows() && e && e->value == c.value)
            entries.erase(key);
    }
    if (!several || granted) {
        bool const raised = raise_counters(c);
        r.fence = granted && raised ? c.fence() : 0;
    }
    if (c.grows())
        r.ours = static_cast<std::uint32_t>(ours);
    if (c.contends() && granted) {
        for (auto const& key : c.keys) {
            r.wanted = note_granted(key, c, now, who) || r.wanted;
            begin_handovers(key, c, now, who);
        }
    } else if (c.contends() && !several) {
        r.ahead = queue(c, now);
        r.stands_by = r.ahead == core::line_front;
    } else if (c.contends()) {
        for (auto const& k : std::span(r.taken).first(c.grows() ? 1 : r.taken.size()))
            note_denied(c.keys[k.index], c, now);
    }
    if (!several && c.contends() && !granted) {
        std::tie(r.remaining, r.handed_on) = std::pair(r.taken.front().remaining, r.taken.front().handed_on);
        r.text = find(c.key(), now)->value;
    }
    if (!several || !c.contends())
        r.taken.clear();
    return r;
}

// Acquires the first key that is free.
node_reply lock_table::acquire_any(node_command const& c, clock::time_point now, void const* who)
{
    node_reply r{.vote = vote::denied};
    for (auto const& key : c.keys) {
        auto const number = static_cast<std::uint32_t>(&key - c.keys.data());
        if (auto const* const e = find(key, now)) {
            r.taken.push_back(c.contends() ? taken_key_of(c, number, *e, now)
                                           : taken_key{number, remaining(*e, now), false});
            continue;
        }
        auto one = c;
        one.keys = c.keys.subspan(number, 1);
        one.as<commands::acquire>().any = false;
        auto granted = acquire(one, now, who);
        for (auto const& other : c.contends() ? c.keys : key_view())
            forget_wanted(other, c.contender(), who);
        granted.chosen = number;
        return granted;
    }
    for (auto const& key : c.contends() ? c.keys : key_view())
        note_denied(key, c, now);
    return r;
}

// The details of a taken key in the reply to a denied client.
taken_key lock_table::taken_key_of(node_command const& c, std::size_t key, entry const& e, clock::time_point now) const
{
    taken_key k{static_cast<std::uint32_t>(key), remaining(e, now), false};
    auto const t = handovers.find(c.keys[key]);
    k.handed_on = t != handovers.end() && t->second > now;
    if (k.handed_on && (k.remaining.count() < 0 || t->second < e.expires))
        k.remaining = remaining({{}, t->second}, now);
    return k;
}

void lock_table::raise_ttl_or_set(std::string const& key, node_command const& c, clock::time_point now)
{
    auto const end = now + std::min(c.ttl, session);
    auto* const e = find(key, now);
    if (!e)
        entries.insert_or_assign(key, entry{std::string(c.value), end});
    else if (e->expires != clock::time_point::max())
        e->expires = std::max(e->expires, end);
}

node_reply lock_table::raise(node_command const& c)
{
    raise_counters(c);
    if (c.is_shared())
        return counted(c.fence());
    std::uint64_t highest = 0;
    for (auto const& key : c.keys)
        highest = std::max(highest, counters[key]);
    for (auto const& key : c.keys)
        counters[key] = highest + 1;
    return counted(highest + 1);
}

node_reply lock_table::inspect(std::string const& key, clock::time_point now)
{
    key_details known;
    known.knows_waiters = known.knows_readers = true;
    if (auto const list = wanted.find(key); list != wanted.end() && list->second.second > now) {
        for (auto const& [who, wish] : list->second.first)
            known.waiters.push_back({who, wish.note, wish.to_share});
    }
    auto const* const e = find(key, now);
    if (e && e->value == core::shared_word)
        known.readers = readers[key].last(readers_max, now);
    node_reply r{.vote = e ? vote::granted : vote::denied};
    r.details = std::make_shared<key_details const>(std::move(known));
    if (e) {
        r.text = e->value;
        r.remaining = remaining(*e, now);
    }
    return r;
}

// The place where the next scan begins is the last key of this one.
node_reply lock_table::scan(node_command const& c, clock::time_point now)
{
    auto listed = std::make_shared<key_details>();
    node_reply r{.vote = vote::granted};
    for (auto e = c.value.empty() ? entries.lower_bound(c.key()) : entries.upper_bound(c.value);
         e != entries.end() && e->first.starts_with(c.key()) && r.text.empty(); ++e) {
        if (e->second.expires > now)
            listed->keys.push_back(e->first);
        if (listed->keys.size() >= c.as<commands::scan>().limit)
            r.text = e->first;
    }
    r.details = std::move(listed);
    return r;
}

node_reply lock_table::extend(node_command const& c, clock::time_point now)
{
    bool missing = false, foreign = false;
    for (auto const& key : c.keys) {
        auto const* const e = find(key, now);
        missing = missing || !e;
        foreign = foreign || (e && e->value != c.value);
    }
    node_reply r{.vote = foreign || missing ? vote::denied : vote::granted};
    r.healed = !foreign && missing && c.heals() && !has_tombstone(c, now);
    if (r.vote == vote::granted || r.healed) {
        for (auto const& key : c.keys)
            raise_ttl_or_set(key, c, now);
    }
    return r;
}

node_reply lock_table::replace(node_command const& c, clock::time_point now)
{
    auto const* const first = find(c.key(), now);
    if (!first || has_tombstone(c, now))
        return {.vote = vote::denied};
    if (c.is_shared() && first->value == core::shared_word)
        return replace_reader(c, now);
    bool const has_all = std::ranges::all_of(c.keys, [&](auto& key) {
        auto const* const e = find(key, now);
        return e && (e->value == c.as<commands::replace>().former || e->value == c.value);
    });
    for (auto const& key : has_all ? c.keys : key_view()) {
        find(key, now)->value = c.value;
        raise_ttl_or_set(key, c, now);
    }
    return {.vote = has_all ? vote::granted : vote::denied};
}

node_reply lock_table::release(node_command const& c, clock::time_point now, void const* who)
{
    node_reply r;
    for (auto const& key : c.keys) {
        auto const* const e = find(key, now);
        if (!e || e->value != c.value)
            continue;
        entries.erase(key);
        ++r.ours;
        if (c.handed_on() == commands::handovers::end)
            end_handovers(key, who);
    }
    r.vote = r.ours == c.keys.size() ? vote::granted : vote::denied;
    if (!c.has_several_keys())
        r.ours = 0;
    return r;
}

}  // namespace redlock::stores::memory
