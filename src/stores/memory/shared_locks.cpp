// Shared locks of a lock server.

#include "core/handovers.hpp"
#include "core/key.hpp"
#include "stores/memory/lock_table.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace redlock::stores::memory {

namespace {

std::chrono::milliseconds from_to(clock::time_point now, clock::time_point end)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(end - now);
}

}  // namespace

bool lock_table::is_reader(node_command const& c, clock::time_point now)
{
    return readers[c.key()].end_of(c.value) > now;
}

bool lock_table::other_writer_waits(node_command const& c, clock::time_point now) const
{
    auto const known = wanted.find(c.key());
    return known != wanted.end() && known->second.second > now
           && std::any_of(known->second.first.begin(), known->second.first.end(),
                          [&](auto& wanted) { return !wanted.second.to_share && wanted.first != c.contender(); });
}

// Adds or prolongs a reader. The key expires together with the last reader.
void lock_table::enter(node_command const& c, clock::time_point now)
{
    auto const end = now + std::min(c.ttl, session);
    auto* const e = find(c.key(), now);
    auto& all = readers[c.key()];
    if (!e)
        all.clear();
    all.add_or_extend(c.value, end);
    all.erase_until(now);
    if (!e)
        entries.insert_or_assign(c.key(), entry{std::string(core::shared_word), end});
    else if (e->expires != clock::time_point::max())
        e->expires = std::max(e->expires, end);
}

node_reply lock_table::share(node_command const& c, clock::time_point now, void const* who)
{
    auto const& key = c.key();
    auto const* const e = find(key, now);
    bool const free_to_share = !e || e->value == core::shared_word;
    bool const others_wait = other_writer_waits(c, now);
    if (free_to_share && (c.as<commands::acquire>().passes || !others_wait)) {
        bool const was_free = !e;
        enter(c, now);
        if (was_free)
            end_handovers(key, who);
        node_reply r{.vote = vote::granted, .wanted = others_wait};
        if (c.contends())
            note_granted(key, c, now, who);
        if (auto const counter = counters.find(key); c.fence() != 0 && counter != counters.end())
            r.fence = counter->second;
        return r;
    }
    node_reply r{.vote = vote::denied};
    r.behind_writer = free_to_share;
    auto const seen = taken_key_of(c, 0, e ? *e : entry{{}, now}, now);
    if (free_to_share) {
        auto& wishes_end = wanted[key].second;
        if (!e && !seen.handed_on)
            wishes_end = std::min(wishes_end, now + core::wanted_life);  // a live writer asks again within a round trip
        r.handed_on = seen.handed_on;
        r.remaining = from_to(now, r.handed_on ? std::min(wishes_end, handovers[key]) : wishes_end);
    } else {
        if (c.contends())
            note_denied(key, c, now);
        std::tie(r.remaining, r.handed_on) = std::pair(seen.remaining, seen.handed_on);
        if (c.contends())
            r.text = e->value;
    }
    return r;
}

node_reply lock_table::extend_shared(node_command const& c, clock::time_point now)
{
    auto const* const e = find(c.key(), now);
    if (e && e->value == c.value) {  // the lock is exclusive, which includes reading
        raise_ttl_or_set(c.key(), c, now);
        return {.vote = vote::granted};
    }
    if (e && e->value != core::shared_word)
        return {.vote = vote::denied};
    bool const missing = !e || !is_reader(c, now);
    node_reply r{.vote = missing || c.as<commands::extend>().alone ? vote::denied : vote::granted};
    r.healed = missing && c.heals() && !has_tombstone(c, now) && !(e && c.as<commands::extend>().alone);
    if (r.healed && c.as<commands::extend>().alone)
        raise_ttl_or_set(c.key(), c, now);
    else if (!missing || r.healed)
        enter(c, now);
    return r;
}

node_reply lock_table::replace_reader(node_command const& c, clock::time_point now)
{
    auto& all = readers[c.key()];
    auto const end = std::max(all.end_of(c.as<commands::replace>().former), all.end_of(c.value));
    if (end <= now)
        return {.vote = vote::denied};
    all.erase(c.as<commands::replace>().former);
    all.add_or_extend(c.value, end);
    enter(c, now);
    return {.vote = vote::granted};
}

node_reply lock_table::upgrade(node_command const& c, clock::time_point now, void const* who)
{
    auto r = make_exclusive(c, now, who);
    bool const raised = raise_counters(c);
    r.fence = r.vote == vote::granted && raised ? c.fence() : 0;
    return r;
}

node_reply lock_table::make_exclusive(node_command const& c, clock::time_point now, void const* who)
{
    auto* const e = find(c.key(), now);
    if (e && e->value == c.value) {
        raise_ttl_or_set(c.key(), c, now);
        return {.vote = vote::granted};
    }
    if (!e || e->value != core::shared_word || !is_reader(c, now))
        return {.vote = vote::denied};
    auto& all = readers[c.key()];
    all.erase_until(now);
    if (all.size() == 1) {
        *e = {std::string(c.value), std::max(all.end_of(c.value), now + std::min(c.ttl, session))};
        readers.erase(c.key());
        forget_wanted(c.key(), c.contender(), who);
        return {.vote = vote::granted};
    }
    node_reply r{.vote = vote::denied,
                 .remaining = e->expires == clock::time_point::max() ? std::chrono::milliseconds(-1)
                                                                     : from_to(now, e->expires)};
    r.ours = 1;
    if (c.contends())
        note_denied(c.key(), c, now);
    return r;
}

node_reply lock_table::downgrade(node_command const& c, clock::time_point now)
{
    auto* const e = find(c.key(), now);
    if (e && e->value == core::shared_word)
        return {.vote = is_reader(c, now) ? vote::granted : vote::denied};
    if (!e || e->value != c.value || e->expires == clock::time_point::max())
        return {.vote = vote::denied};
    readers[c.key()] = {{std::string(c.value), e->expires}};
    e->value = core::shared_word;
    return {.vote = vote::granted};
}

node_reply lock_table::release_shared(node_command const& c, clock::time_point now, void const* who)
{
    auto const* const e = find(c.key(), now);
    if (e && e->value == c.value) {
        entries.erase(c.key());
        return {.vote = vote::granted};
    }
    if (!e || e->value != core::shared_word)
        return {.vote = vote::denied};
    auto& all = readers[c.key()];
    all.erase_until(now);
    bool const ours = all.erase(c.value);
    if (all.empty()) {
        entries.erase(c.key());
        readers.erase(c.key());
    }
    if (ours)
        tell(core::readers_key(c.key()), who);
    return {.vote = ours ? vote::granted : vote::denied};
}

}  // namespace redlock::stores::memory
