#include "stores/redis/encoder.hpp"

#include "core/fencing.hpp"
#include "core/handovers.hpp"
#include "core/key.hpp"
#include "stores/redis/request.hpp"

#include <algorithm>

namespace redlock::stores::redis {

namespace {

using namespace std::string_view_literals;
using kind = node_command::kind;
using handovers = commands::handovers;

constexpr auto fence_member = "token"sv;  // the only member of the sorted set that is a fencing counter

// As many as the server lists by itself, and fewer than a reply may have: the server may list more than it is asked
// for.
constexpr std::uint32_t scan_min = 10, scan_max = 500;

// A pattern for all texts that begin with @p prefix.
std::string pattern_of(std::string_view prefix)
{
    std::string pattern;
    for (char const c : prefix) {
        if (std::string_view("*?[\\").find(c) != std::string_view::npos)
            pattern += '\\';
        pattern += c;
    }
    return pattern += '*';
}

constexpr std::string_view flag(bool set) { return set ? "1" : "0"; }

/// The scripts for one kind of command. Null: no script.
struct scripts_of_kind {
    script const* one = nullptr;      ///< for one key
    script const* several = nullptr;  ///< for several keys
    script const* shared = nullptr;   ///< for a reader, upgraded or not
};

scripts_of_kind scripts_for(node_command::kind k)
{
    switch (k) {
    case kind::acquire:
        return {nullptr, &acquire_all_script, &share_script};
    case kind::raise:
        return {nullptr, &raise_all_script, nullptr};
    case kind::extend:
        return {&extend_script, &extend_all_script, &extend_shared_script};
    case kind::replace:
        return {&replace_script, &replace_script, &replace_script};
    case kind::release:
        return {&release_script, &release_all_script, &release_shared_script};
    case kind::inspect:
        return {&inspect_script, nullptr, nullptr};
    case kind::scan:
        return {&scan_script, nullptr, nullptr};
    case kind::upgrade:
        return {nullptr, nullptr, &upgrade_script};
    case kind::downgrade:
        return {nullptr, nullptr, &downgrade_script};
    case kind::connect:
    case kind::found:
    case kind::withdraw:
        break;
    }
    return {};
}

}  // namespace

script const* script_for(node_command const& c, manner how)
{
    auto const scripts = scripts_for(c.which());
    if (c.is_shared())
        return scripts.shared;
    if (c.which() == kind::acquire && c.has_several_keys() && c.wants_any())
        return &acquire_any_script;
    if (c.which() == kind::acquire && c.contends())
        return c.has_several_keys() ? &contend_all_script : &contend_script;
    if (c.has_several_keys())
        return scripts.several;
    if (c.which() != kind::release)
        return scripts.one;
    if (how.tombstone)
        return &tombstone_script;
    return c.handed_on() == handovers::end || how.by == deletion::script ? scripts.one : nullptr;
}

std::size_t commands_for(node_command const& c)
{
    if (c.which() == kind::withdraw)
        return c.keys.size();
    if (c.has_several_keys())
        return 1;
    if (c.is_shared())
        return (c.which() == kind::acquire || c.which() == kind::upgrade) && c.fence() != 0 ? 2 : 1;
    return c.which() == kind::raise || (c.which() == kind::acquire && c.fence() != 0) ? 2 : 1;
}

// Native commands are used because a script that makes four calls takes the server twice as long.
template <class... Options>
void encoder::propose(node_command const& c, Options const&... options)
{
    core::put_fence_key(fence_key_, c.key());
    request_.push("ZADD", fence_key_, "GT"sv, options..., c.fence(), fence_member);
}

void encoder::withdraw(node_command const& c)
{
    for (auto const& key : c.keys) {
        core::put_wanted_key(wanted_key_, key);
        request_.push("HDEL", wanted_key_, c.contender());
    }
}

template <class PutKey>
void encoder::add_keys(node_command const& c, PutKey put_key, std::string& key)
{
    for (auto const& k : c.keys) {
        put_key(key, k);
        call_.add_key(key);
    }
}

void encoder::add_tombstone(node_command const& c)
{
    core::put_tombstone_key(tombstone_key_, c.key(), c.value);
    call_.add_key(tombstone_key_);
}

// Adds the keys that follow the locks, then the arguments, both in the script's order.
void encoder::call_to_acquire(node_command const& c)
{
    if (c.contends() || c.is_shared()) {
        add_keys(c, core::put_wanted_key, wanted_key_);
        add_keys(c, core::put_handovers_key, handovers_key_);
    }
    if (c.grows())
        add_tombstone(c);
    bool const counts = c.has_several_keys() && c.fence() != 0;
    if (counts)
        add_keys(c, core::put_fence_key, fence_key_);
    auto const follow = flag(c.handed_on() == handovers::follow);
    call_.add(c.value, c.ttl.count());
    if (c.is_shared())
        call_.add(c.contender(), core::wanted_life.count(), flag(c.as<commands::acquire>().passes));
    else if (!c.has_several_keys())
        call_.add(c.contender(), core::wanted_life.count(), follow, c.note());
    else if (c.wants_any())
        call_.add(c.keys.size(), c.contender(), core::wanted_life.count(), follow, c.note());
    else if (c.contends())
        call_.add(c.contender(), core::wanted_life.count(), c.keys.size(), flag(c.grows()), c.note());
    else
        call_.add(c.keys.size());
    if (counts)
        call_.add(c.fence());
}

void encoder::call(script const& s, node_command const& c, manner how)
{
    call_.begin(s.sha1);
    for (auto const& key : c.which() == kind::raise || c.which() == kind::scan ? key_view() : c.keys)
        call_.add_key(key);
    if (c.which() == kind::replace)
        add_tombstone(c);
    if (c.is_shared())
        add_keys(c, core::put_readers_key, readers_key_);
    bool const several = c.has_several_keys();
    switch (c.which()) {
    case kind::acquire:
        call_to_acquire(c);
        break;
    case kind::raise:
        add_keys(c, core::put_fence_key, fence_key_);
        call_.add(c.fence());
        break;
    case kind::extend:
        if (c.heals())
            add_tombstone(c);
        call_.add(c.value, c.ttl.count());
        if (several)
            call_.add(c.keys.size());
        call_.add(flag(c.heals()));
        if (c.is_shared())
            call_.add(flag(c.as<commands::extend>().alone));
        break;
    case kind::replace:
        call_.add(c.value, c.ttl.count(), c.as<commands::replace>().former, c.keys.size());
        break;
    case kind::release:
        if (how.tombstone)
            add_tombstone(c);
        if (c.handed_on() == handovers::end && !several && !c.is_shared())
            add_keys(c, core::put_handovers_key, handovers_key_);
        call_.add(c.value);
        if (several)
            call_.add(c.keys.size());
        if (how.tombstone)
            call_.add(core::tombstone_life.count());
        break;
    case kind::upgrade:
        add_keys(c, core::put_wanted_key, wanted_key_);
        call_.add(c.value, c.ttl.count(), c.contender(), core::wanted_life.count(), c.note());
        break;
    case kind::downgrade:
        call_.add(c.value);
        break;
    case kind::inspect:
        add_keys(c, core::put_wanted_key, wanted_key_);
        add_keys(c, core::put_readers_key, readers_key_);
        break;
    case kind::scan:
        call_.add(c.value.empty() ? "0"sv : c.value, pattern_of(c.key()),
                  std::clamp(c.as<commands::scan>().limit, scan_min, scan_max));
        break;
    case kind::connect:
    case kind::found:
    case kind::withdraw:
        break;
    }
    call_.push_to(request_);
}

void encoder::native(node_command const& c, manner how)
{
    if (c.which() == kind::withdraw)
        return withdraw(c);
    if (c.which() == kind::acquire && how.checks_type)
        request_.push("SET", c.key(), c.value, "NX"sv, "PX"sv, c.ttl.count(), "GET"sv);
    else if (c.which() == kind::acquire)
        request_.push("SET", c.key(), c.value, "NX"sv, "PX"sv, c.ttl.count());
    else if (c.which() == kind::release && how.by == deletion::delifeq)
        request_.push("DELIFEQ", c.key(), c.value);
    else if (c.which() == kind::release)
        request_.push("DELEX", c.key(), "IFEQ"sv, c.value);
    else if (c.which() == kind::raise)
        propose(c);
    if (c.which() == kind::raise && !c.is_shared())
        request_.push("ZINCRBY", fence_key_, "1"sv, fence_member);
}

// Adds the command for the fencing counter of a single lock. For several locks, the script raises the counters.
void encoder::raise_counter(node_command const& c)
{
    if (c.fence() == 0 || c.has_several_keys())
        return;
    if (c.which() == kind::upgrade || (c.which() == kind::acquire && !c.is_shared()))
        return propose(c, "CH"sv);
    if (c.which() != kind::acquire)
        return;
    core::put_fence_key(fence_key_, c.key());
    request_.push("ZSCORE", fence_key_, fence_member);
}

// The server sends pushes about the keys that the command right behind `CLIENT CACHING YES` reads. If that were a
// script, Redis up to 7.0 would track all keys of the call, also those that do not exist.
void track(redis::request& r, std::string_view key)
{
    r.push("CLIENT", "CACHING"sv, "YES"sv);
    r.push("PTTL", key);
}

// The server forgets a key when it is set. No reader of these sets looks for the member 0.
void untrack(redis::request& r, std::string_view key)
{
    r.push("SADD", key, "0"sv);
    r.push("SREM", key, "0"sv);
}

redis::request const& encoder::encode(node_command const& c, manner how)
{
    if (encoded_ == &c && how_ == how)
        return request_;
    forget();  // if memory runs out below, the incomplete request must never be sent
    request_.clear();
    auto const* const s = script_for(c, how);
    if (s && how.load_script)
        request_.push("SCRIPT", "LOAD"sv, s->source);
    bool const tracks_first = how.tracks && c.which() == kind::upgrade;
    if (tracks_first) {
        core::put_readers_key(readers_key_, c.key());
        track(request_, c.key());
        track(request_, readers_key_);
    }
    if (s)
        call(*s, c, how);
    else
        native(c, how);
    raise_counter(c);
    if (how.tracks && !tracks_first)
        track(request_, c.key());
    encoded_ = &c;
    how_ = how;
    return request_;
}

}  // namespace redlock::stores::redis
