#include "stores/redis/encoder.hpp"

#include "core/fencing.hpp"
#include "core/handovers.hpp"
#include "core/key.hpp"
#include "stores/redis/request.hpp"

namespace redlock::redis {

namespace {

using namespace std::string_view_literals;

constexpr auto fence_member = "token"sv;  // of the sorted set that is a counter

script const* script_for_several(node_command const& c)
{
    switch (c.what) {
    case node_command::kind::acquire:
        return c.any ? &acquire_any_script : c.contends() ? &contend_all_script : &acquire_all_script;
    case node_command::kind::raise:
        return &raise_all_script;
    case node_command::kind::extend:
        return &extend_all_script;
    case node_command::kind::release:
        return &release_all_script;
    case node_command::kind::inspect:
    case node_command::kind::connect:
    case node_command::kind::upgrade:
    case node_command::kind::downgrade:
    case node_command::kind::withdraw:
        break;
    }
    return nullptr;
}

script const* script_for_shared(node_command const& c)
{
    switch (c.what) {
    case node_command::kind::acquire:
        return &share_script;
    case node_command::kind::extend:
        return &extend_shared_script;
    case node_command::kind::release:
        return &release_shared_script;
    case node_command::kind::upgrade:
        return &upgrade_script;
    case node_command::kind::downgrade:
        return &downgrade_script;
    case node_command::kind::raise:
    case node_command::kind::inspect:
    case node_command::kind::connect:
    case node_command::kind::withdraw:
        break;
    }
    return nullptr;
}

}  // namespace

script const* script_for(node_command const& c, manner how)
{
    if (c.what == node_command::kind::withdraw)
        return nullptr;
    if (c.is_shared())
        return script_for_shared(c);
    if (c.has_several_keys())
        return script_for_several(c);
    switch (c.what) {
    case node_command::kind::acquire:
        return c.contends() ? &contend_script : nullptr;
    case node_command::kind::extend:
        return &extend_script;
    case node_command::kind::release:
        if (how.tombstone)
            return &tombstone_script;
        return c.handed_on == node_command::handovers::end || how.by == deletion::script ? &release_script : nullptr;
    case node_command::kind::inspect:
        return &inspect_script;
    case node_command::kind::raise:
    case node_command::kind::connect:
    case node_command::kind::upgrade:
    case node_command::kind::downgrade:
    case node_command::kind::withdraw:
        break;
    }
    return nullptr;
}

std::size_t commands_for(node_command const& c)
{
    if (c.what == node_command::kind::withdraw)
        return c.keys.size();
    if (c.has_several_keys())
        return 1;
    if (c.is_shared())
        return (c.what == node_command::kind::acquire || c.what == node_command::kind::upgrade) && c.fence != 0 ? 2 : 1;
    return c.what == node_command::kind::raise || (c.what == node_command::kind::acquire && c.fence != 0) ? 2 : 1;
}

void encoder::contend(node_command const& c, std::string_view script)
{
    core::put_wanted_key(wanted_key_, c.key());
    core::put_handovers_key(handovers_key_, c.key());
    request_.push("EVALSHA", script, "3"sv, c.key(), wanted_key_, handovers_key_, c.value, static_cast<std::int64_t>(c.ttl.count()),
                 c.contender, static_cast<std::int64_t>(core::wanted_life.count()), c.handed_on == node_command::handovers::follow ? "1"sv : "0"sv);
}

// Native commands, not a script: a server runs one of four calls in twice the time.
template <class... Options>
void encoder::propose(node_command const& c, Options const&... options)
{
    core::put_fence_key(fence_key_, c.key());
    request_.push("ZADD", fence_key_, "GT"sv, options..., static_cast<std::int64_t>(c.fence), fence_member);
}

void encoder::withdraw(node_command const& c)
{
    for (auto const& key : c.keys) {
        core::put_wanted_key(wanted_key_, key);
        request_.push("HDEL", wanted_key_, c.contender);
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

void encoder::acquire_several(node_command const& c)
{
    auto const count = static_cast<std::int64_t>(c.keys.size());
    if (c.contends()) {
        add_keys(c, core::put_wanted_key, wanted_key_);
        add_keys(c, core::put_handovers_key, handovers_key_);
    }
    if (c.grows)
        add_tombstone(c);
    if (c.fence != 0)
        add_keys(c, core::put_fence_key, fence_key_);
    call_.add(c.value, c.ttl.count());
    if (c.any)
        call_.add(count, c.contender, core::wanted_life.count(), c.handed_on == node_command::handovers::follow ? "1"sv : "0"sv);
    else if (c.contends())
        call_.add(c.contender, core::wanted_life.count(), count, c.grows ? "1"sv : "0"sv);
    else
        call_.add(count);
    if (c.fence != 0)
        call_.add(static_cast<std::int64_t>(c.fence));
}

void encoder::encode_several(node_command const& c, manner how, script const& s)
{
    auto const count = static_cast<std::int64_t>(c.keys.size());
    call_.begin(s.sha1);
    if (c.what != node_command::kind::raise) {
        for (auto const& k : c.keys)
            call_.add_key(k);
    }
    switch (c.what) {
    case node_command::kind::acquire:
        acquire_several(c);
        break;
    case node_command::kind::raise:
        add_keys(c, core::put_fence_key, fence_key_);
        call_.add(static_cast<std::int64_t>(c.fence));
        break;
    case node_command::kind::extend:
        if (c.heal)
            add_tombstone(c);
        call_.add(c.value, c.ttl.count(), count, c.heal ? "1"sv : "0"sv);
        break;
    case node_command::kind::release:
        if (how.tombstone)
            add_tombstone(c);
        call_.add(c.value, count);
        if (how.tombstone)
            call_.add(core::tombstone_life.count());
        break;
    case node_command::kind::inspect:
    case node_command::kind::connect:
    case node_command::kind::upgrade:
    case node_command::kind::downgrade:
    case node_command::kind::withdraw:
        break;
    }
    call_.push_to(request_);
}

void encoder::encode_shared(node_command const& c, manner how, script const* s)
{
    auto const& key = c.key();
    auto const ttl = static_cast<std::int64_t>(c.ttl.count());
    bool const needs_tombstone = c.heal || how.tombstone;
    core::put_readers_key(readers_key_, key);
    if (needs_tombstone)
        core::put_tombstone_key(tombstone_key_, key, c.value);
    switch (c.what) {
    case node_command::kind::acquire:
        core::put_wanted_key(wanted_key_, key);
        core::put_handovers_key(handovers_key_, key);
        request_.push("EVALSHA", s->sha1, "4"sv, key, readers_key_, wanted_key_, handovers_key_, c.value, ttl, c.contender,
                     static_cast<std::int64_t>(core::wanted_life.count()), c.passes ? "1"sv : "0"sv);
        if (c.fence != 0) {
            core::put_fence_key(fence_key_, key);
            request_.push("ZSCORE", fence_key_, fence_member);
        }
        break;
    case node_command::kind::raise:
        propose(c);
        break;
    case node_command::kind::extend:
        if (c.heal)
            request_.push("EVALSHA", s->sha1, "3"sv, key, readers_key_, tombstone_key_, c.value, ttl, "1"sv, c.alone ? "1"sv : "0"sv);
        else
            request_.push("EVALSHA", s->sha1, "2"sv, key, readers_key_, c.value, ttl, "0"sv, c.alone ? "1"sv : "0"sv);
        break;
    case node_command::kind::release:
        if (how.tombstone)
            request_.push("EVALSHA", s->sha1, "3"sv, key, readers_key_, tombstone_key_, c.value, core::tombstone_life.count());
        else
            request_.push("EVALSHA", s->sha1, "2"sv, key, readers_key_, c.value);
        break;
    case node_command::kind::upgrade:
        core::put_wanted_key(wanted_key_, key);
        request_.push("EVALSHA", s->sha1, "3"sv, key, readers_key_, wanted_key_, c.value, ttl, c.contender,
                     static_cast<std::int64_t>(core::wanted_life.count()));
        if (c.fence != 0)
            propose(c, "CH"sv);
        break;
    case node_command::kind::downgrade:
        request_.push("EVALSHA", s->sha1, "2"sv, key, readers_key_, c.value);
        break;
    case node_command::kind::inspect:
    case node_command::kind::connect:
    case node_command::kind::withdraw:
        break;
    }
}

// The server tells of changes to what the command behind `CLIENT CACHING YES` reads, from that command on.
void encoder::track(node_command const& c, tracked what)
{
    if (what == tracked::nothing)
        return;
    request_.push("CLIENT", "CACHING"sv, "YES"sv);
    if (what == tracked::script)
        return;
    call_.begin({});
    for (auto const& k : c.keys)
        call_.add_key(k);
    add_keys(c, core::put_handovers_key, handovers_key_);
    call_.push_keys_to(request_, "EXISTS");
}

redis::request const& encoder::encode(node_command const& c, manner how)
{
    if (encoded_ == &c && how_ == how)
        return request_;
    forget();  // what is half encoded, out of memory, must never be sent
    request_.clear();
    auto const* const s = script_for(c, how);
    if (s && how.load_script)
        request_.push("SCRIPT", "LOAD"sv, s->source);
    track(c, how.tracks);
    if (c.what == node_command::kind::withdraw)
        withdraw(c);
    else if (c.is_shared())
        encode_shared(c, how, s);
    else if (c.has_several_keys())
        encode_several(c, how, *s);
    else
        encode_one(c, how, s);
    encoded_ = &c;
    how_ = how;
    return request_;
}

void encoder::encode_one(node_command const& c, manner how, script const* s)
{
    auto const ttl = c.ttl.count();
    switch (c.what) {
    case node_command::kind::acquire:
        if (c.contends())
            contend(c, s->sha1);
        else if (how.checks_type)
            request_.push("SET", c.key(), c.value, "NX"sv, "PX"sv, ttl, "GET"sv);
        else
            request_.push("SET", c.key(), c.value, "NX"sv, "PX"sv, ttl);
        if (c.fence != 0)
            propose(c, "CH"sv);
        break;
    case node_command::kind::raise:
        propose(c);
        request_.push("ZINCRBY", fence_key_, "1"sv, fence_member);
        break;
    case node_command::kind::extend:
        if (c.heal) {
            core::put_tombstone_key(tombstone_key_, c.key(), c.value);
            request_.push("EVALSHA", s->sha1, "2"sv, c.key(), tombstone_key_, c.value, ttl, "1"sv);
        } else {
            request_.push("EVALSHA", s->sha1, "1"sv, c.key(), c.value, ttl, "0"sv);
        }
        break;
    case node_command::kind::release:
        if (s == &tombstone_script) {
            core::put_tombstone_key(tombstone_key_, c.key(), c.value);
            request_.push("EVALSHA", s->sha1, "2"sv, c.key(), tombstone_key_, c.value, core::tombstone_life.count());
        } else if (c.handed_on == node_command::handovers::end) {
            core::put_handovers_key(handovers_key_, c.key());
            request_.push("EVALSHA", s->sha1, "2"sv, c.key(), handovers_key_, c.value);
        } else if (s) {
            request_.push("EVALSHA", s->sha1, "1"sv, c.key(), c.value);
        } else if (how.by == deletion::delifeq) {
            request_.push("DELIFEQ", c.key(), c.value);
        } else {
            request_.push("DELEX", c.key(), "IFEQ"sv, c.value);
        }
        break;
    case node_command::kind::inspect:
        request_.push("EVALSHA", s->sha1, "1"sv, c.key());
        break;
    case node_command::kind::connect:
    case node_command::kind::upgrade:
    case node_command::kind::downgrade:
    case node_command::kind::withdraw:
        break;
    }
}

}  // namespace redlock::redis
