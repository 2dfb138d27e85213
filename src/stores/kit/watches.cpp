#include "stores/kit/watches.hpp"

#include "core/handovers.hpp"
#include "core/key.hpp"
#include "stores/kit/steps.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace redlock::stores::kit {

namespace {

// Watchers inspect a lock again earlier than that. The remaining time of a lock that never expires is negative.
constexpr std::chrono::milliseconds inspected_again = std::chrono::minutes(1);

std::string name_of(std::int64_t kind, std::string const& key)
{
    switch (kind) {
    case 1:
        return key;
    case 2:
        return core::handovers_key(key);
    case 4:
        return core::wanted_key(key);
    case 8:
        return core::readers_key(key);
    }
    return {};
}

}  // namespace

void watches::sent(node_command const& c)
{
    for (auto const& key : c.keys)
        ++asked_[key].under_way;
}

std::vector<std::string> watches::answered(node_command const& c, node_reply const& r, clock::time_point now)
{
    std::vector<std::string> names;
    auto const add = [&](std::string name, std::chrono::milliseconds after) {
        note(names.emplace_back(std::move(name)), now + after);
    };
    auto const add_lock = [&](std::string const& key, bool handed_on, std::chrono::milliseconds remaining) {
        auto const left = std::max(remaining, std::chrono::milliseconds(0));
        add(handed_on ? core::handovers_key(key) : key, left + 2 * core::wanted_life);
    };
    if (c.which() == node_command::kind::inspect && r.vote == vote::granted) {
        add_lock(c.key(), false, std::max(r.remaining, inspected_again));
        add(core::readers_key(c.key()), std::max(r.remaining, inspected_again));
    } else if (r.vote == vote::denied && c.which() != node_command::kind::inspect) {
        for (auto const& k : r.taken)
            add_lock(c.keys[k.index], k.handed_on, k.remaining);
        if (!c.has_several_keys())
            add_lock(c.key(), r.handed_on, r.remaining);
        if (c.which() == node_command::kind::upgrade)
            add(core::readers_key(c.key()), r.remaining + core::wanted_life);
        if (r.behind_writer)
            add(core::wanted_key(c.key()), r.remaining + core::wanted_life);
    }
    std::vector<std::string> changed;
    for (auto const& n : names) {
        auto const known = asked_.find(core::what_changed(n).second);
        if (known != asked_.end() && std::ranges::find(known->second.early, n) != known->second.early.end()) {
            names_.erase(n);
            changed.push_back(n);
        }
    }
    for (auto const& key : c.keys) {
        if (auto const known = asked_.find(key); known != asked_.end() && --known->second.under_way == 0)
            asked_.erase(known);
    }
    return changed;
}

std::string watches::heard(std::string_view what)
{
    auto const kind = to_integer(take(what, ':'));  // such as "1:6c6f636b" for a lock; see redlock_tell in schema.sql
    auto const key = from_hex(what);
    auto name = name_of(kind, key);
    auto const asked = asked_.find(key);
    if (asked != asked_.end() && std::ranges::find(asked->second.early, name) == asked->second.early.end())
        asked->second.early.push_back(name);
    return names_.erase(name) > 0 ? name : std::string();
}

void watches::note(std::string name, clock::time_point until)
{
    if (names_.size() >= tidy_at_) {
        auto const now = clock::now();
        std::erase_if(names_, [&](auto& n) { return n.second < now; });
        tidy_at_ = std::max<std::size_t>(1024, 2 * names_.size());
    }
    auto& known = names_[std::move(name)];
    known = std::max(known, until);
}

void watches::clear()
{
    names_.clear();
    for (auto& [key, asked] : asked_)
        asked.early.clear();
}

}  // namespace redlock::stores::kit
