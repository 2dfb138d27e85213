#include "redis/sender.hpp"

#include "core/fencing.hpp"
#include "core/key.hpp"
#include "core/handovers.hpp"
#include "redis/command.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace redlock::redis {

namespace {

using namespace std::string_view_literals;

constexpr auto fence_member = "token"sv;  // of the sorted set that is a counter

}  // namespace

script const* script_for(node_command const& c, manner how)
{
    switch (c.what) {
    case node_command::kind::acquire:
        return c.contends() ? &contend_script : nullptr;
    case node_command::kind::extend:
        return &extend_script;
    case node_command::kind::release:
        if (how.tombstone)
            return &bury_script;
        return c.handed_on == node_command::handovers::end || how.by == deletion::script ? &release_script : nullptr;
    case node_command::kind::inspect:
        return &inspect_script;
    case node_command::kind::raise:
    case node_command::kind::connect:
        break;
    }
    return nullptr;
}

std::size_t commands_for(node_command const& c)
{
    return c.what == node_command::kind::raise || (c.what == node_command::kind::acquire && c.fence != 0) ? 2 : 1;
}

void encoder::contend(node_command const& c, std::string_view script)
{
    core::put_wanted_key(wanted_key_, c.key());
    core::put_turn_key(turn_key_, c.key());
    push_command(request_, "EVALSHA", script, "3"sv, c.key(), wanted_key_, turn_key_, c.value, static_cast<std::int64_t>(c.ttl.count()),
                 c.contender, static_cast<std::int64_t>(core::wanted_life.count()), c.handed_on == node_command::handovers::follow ? "1"sv : "0"sv);
}

// Native commands, not a script: a server runs one of four calls in twice the time.
template <class... Options>
void encoder::propose(node_command const& c, Options const&... options)
{
    core::put_fence_key(fence_key_, c.key());
    push_command(request_, "ZADD", fence_key_, "GT"sv, options..., static_cast<std::int64_t>(c.fence), fence_member);
}

boost::redis::request const& encoder::encode(node_command const& c, manner how)
{
    if (encoded_ == c && how_ == how)
        return request_;
    forget();  // what is half encoded, out of memory, must never be sent
    request_.clear();
    auto const ttl = c.ttl.count();
    auto const* const s = script_for(c, how);
    if (s && how.load_script)
        push_command(request_, "SCRIPT", "LOAD"sv, s->source);
    switch (c.what) {
    case node_command::kind::acquire:
        if (how.tracking)
            push_command(request_, "CLIENT", "CACHING"sv, "YES"sv);
        if (c.contends())
            contend(c, s->sha1);
        else if (how.checks_type)
            push_command(request_, "SET", c.key(), c.value, "NX"sv, "PX"sv, ttl, "GET"sv);
        else
            push_command(request_, "SET", c.key(), c.value, "NX"sv, "PX"sv, ttl);
        if (c.fence != 0)
            propose(c, "CH"sv);
        break;
    case node_command::kind::raise:
        propose(c);
        push_command(request_, "ZINCRBY", fence_key_, "1"sv, fence_member);
        break;
    case node_command::kind::extend:
        if (c.heal) {
            core::put_tombstone_key(tombstone_key_, c.key(), c.value);
            push_command(request_, "EVALSHA", s->sha1, "2"sv, c.key(), tombstone_key_, c.value, ttl, "1"sv);
        } else {
            push_command(request_, "EVALSHA", s->sha1, "1"sv, c.key(), c.value, ttl, "0"sv);
        }
        break;
    case node_command::kind::release:
        if (s == &bury_script) {
            core::put_tombstone_key(tombstone_key_, c.key(), c.value);
            push_command(request_, "EVALSHA", s->sha1, "2"sv, c.key(), tombstone_key_, c.value, core::tombstone_life.count());
        } else if (c.handed_on == node_command::handovers::end) {
            core::put_turn_key(turn_key_, c.key());
            push_command(request_, "EVALSHA", s->sha1, "2"sv, c.key(), turn_key_, c.value);
        } else if (s) {
            push_command(request_, "EVALSHA", s->sha1, "1"sv, c.key(), c.value);
        } else if (how.by == deletion::delifeq) {
            push_command(request_, "DELIFEQ", c.key(), c.value);
        } else {
            push_command(request_, "DELEX", c.key(), "IFEQ"sv, c.value);
        }
        break;
    case node_command::kind::inspect:
        push_command(request_, "EVALSHA", s->sha1, "1"sv, c.key());
        break;
    case node_command::kind::connect:
        break;
    }
    encoded_ = c;
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
