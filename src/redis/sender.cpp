#include "redis/sender.hpp"

#include "core/fencing.hpp"
#include "core/key.hpp"
#include "core/turn.hpp"
#include "redis/command.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace redlock::redis {

namespace {

using namespace std::string_view_literals;

constexpr auto fence_member = "token"sv;  // of the sorted set that is a counter

bool same(std::string_view a, std::string_view b) noexcept
{
    return a.data() == b.data() && a.size() == b.size();
}

}  // namespace

script const* script_for(node_operation const& o, manner how)
{
    switch (o.what) {
    case node_operation::kind::acquire:
        return o.looks_for_others() ? &contend_script : nullptr;
    case node_operation::kind::extend:
        return &extend_script;
    case node_operation::kind::release:
        if (how.tombstone)
            return &bury_script;
        return o.turn || how.by == deletion::script ? &release_script : nullptr;
    case node_operation::kind::inspect:
        return &inspect_script;
    case node_operation::kind::raise:
    case node_operation::kind::connect:
        break;
    }
    return nullptr;
}

std::size_t commands_for(node_operation const& o)
{
    return o.what == node_operation::kind::raise || (o.what == node_operation::kind::acquire && o.fence != 0) ? 2 : 1;
}

void encoder::contend(node_operation const& o, std::string_view script)
{
    core::put_wanted_key(wanted_key_, o.key);
    core::put_turn_key(turn_key_, o.key);
    push_command(request_, "EVALSHA", script, "3"sv, o.key, wanted_key_, turn_key_, o.value, static_cast<std::int64_t>(o.ttl.count()),
                 o.contender, static_cast<std::int64_t>(core::wanted_life.count()), o.turn ? "1"sv : "0"sv);
}

// Native commands, not a script: a server runs one of four calls in twice the time.
template <class... Options>
void encoder::propose(node_operation const& o, Options const&... options)
{
    core::put_fence_key(fence_key_, o.key);
    push_command(request_, "ZADD", fence_key_, "GT"sv, options..., static_cast<std::int64_t>(o.fence), fence_member);
}

boost::redis::request const& encoder::encode(node_operation const& o, manner how)
{
    if (same(key_, o.key) && same(value_, o.value) && what_ == o.what && ttl_ == o.ttl && fence_ == o.fence && heal_ == o.heal
        && turn_ == o.turn && same(contender_, o.contender) && how_ == how)
        return request_;
    forget();  // what is half encoded, out of memory, must never be sent
    request_.clear();
    auto const ttl = o.ttl.count();
    auto const* const s = script_for(o, how);
    if (s && how.load_script)
        push_command(request_, "SCRIPT", "LOAD"sv, s->source);
    switch (o.what) {
    case node_operation::kind::acquire:
        if (how.tracking)
            push_command(request_, "CLIENT", "CACHING"sv, "YES"sv);
        if (o.looks_for_others())
            contend(o, s->sha1);
        else if (how.checks_type)
            push_command(request_, "SET", o.key, o.value, "NX"sv, "PX"sv, ttl, "GET"sv);
        else
            push_command(request_, "SET", o.key, o.value, "NX"sv, "PX"sv, ttl);
        if (o.fence != 0)
            propose(o, "CH"sv);
        break;
    case node_operation::kind::raise:
        propose(o);
        push_command(request_, "ZINCRBY", fence_key_, "1"sv, fence_member);
        break;
    case node_operation::kind::extend:
        if (o.heal) {
            core::put_tombstone_key(tombstone_key_, o.key, o.value);
            push_command(request_, "EVALSHA", s->sha1, "2"sv, o.key, tombstone_key_, o.value, ttl, "1"sv);
        } else {
            push_command(request_, "EVALSHA", s->sha1, "1"sv, o.key, o.value, ttl, "0"sv);
        }
        break;
    case node_operation::kind::release:
        if (s == &bury_script) {
            core::put_tombstone_key(tombstone_key_, o.key, o.value);
            push_command(request_, "EVALSHA", s->sha1, "2"sv, o.key, tombstone_key_, o.value, core::tombstone_life.count());
        } else if (o.turn) {
            core::put_turn_key(turn_key_, o.key);
            push_command(request_, "EVALSHA", s->sha1, "2"sv, o.key, turn_key_, o.value);
        } else if (s) {
            push_command(request_, "EVALSHA", s->sha1, "1"sv, o.key, o.value);
        } else if (how.by == deletion::delifeq) {
            push_command(request_, "DELIFEQ", o.key, o.value);
        } else {
            push_command(request_, "DELEX", o.key, "IFEQ"sv, o.value);
        }
        break;
    case node_operation::kind::inspect:
        push_command(request_, "EVALSHA", s->sha1, "1"sv, o.key);
        break;
    case node_operation::kind::connect:
        break;
    }
    key_ = o.key;
    value_ = o.value;
    what_ = o.what;
    ttl_ = o.ttl;
    fence_ = o.fence;
    heal_ = o.heal;
    turn_ = o.turn;
    contender_ = o.contender;
    how_ = how;
    return request_;
}

void sender::add(std::weak_ptr<node> n, detail::strand const& on)
{
    due_.push_back(std::move(n));
    if (due_.size() > 1)
        return;
    // After all that is due in the event loop, so that whatever it asks for travels along.
    asio::post(on.inner(), [self = shared_from_this(), on] { asio::dispatch(on, [self] { self->run(); }); });
}

void sender::run()
{
    auto const now = clock::now();
    encoder_.forget();  // the previous run may have ended with an exception
    sending_.clear();
    for (auto& weak : std::exchange(due_, {})) {
        if (auto n = weak.lock(); n && n->begin_sending(now))
            sending_.push_back(std::move(n));
    }
    bool more = !sending_.empty();
    for (std::size_t i = 0; more; ++i) {
        more = false;
        for (auto& n : sending_)
            more = n->send(i, now, encoder_) || more;
    }
    encoder_.forget();
    for (auto& n : sending_)
        n->end_sending(now);
    sending_.clear();
}

}  // namespace redlock::redis
