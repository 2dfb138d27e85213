#include "sim/server.hpp"

#include "net/url.hpp"
#include "sim/link.hpp"
#include "sim/world.hpp"
#include "stores/redis/redis_node.hpp"

#include <utility>

namespace redlock::sim {

namespace {

std::string_view name_of(node_command::kind what)
{
    using kind = node_command::kind;
    switch (what) {
    case kind::acquire:
        return "acquire";
    case kind::raise:
        return "raise";
    case kind::extend:
        return "extend";
    case kind::release:
        return "release";
    case kind::inspect:
        return "inspect";
    case kind::connect:
        return "connect";
    case kind::upgrade:
        return "upgrade";
    case kind::downgrade:
        return "downgrade";
    case kind::withdraw:
        return "withdraw";
    }
    return {};
}

}  // namespace

server::server(sim::world& w, std::size_t index, double rate)
    : name(fmt::format("s{}", index)), life_mark(fmt::format("{}-1 0 - first", name)), world_(w), rate_(rate), deletes_if_equal_(w.random.chance(0.3))
{
}

clock::time_point server::clock_now() const
{
    auto const passed = world_.now.time_since_epoch();
    return world_.now + clock::duration(static_cast<clock::rep>(static_cast<double>(passed.count()) * rate_)) + offset_;
}

void server::receive(std::function<void()> what)
{
    if (!alive_)
        return;
    if (paused_)
        inbox_.push_back(std::move(what));
    else
        what();
}

void server::admit(std::shared_ptr<client> const& c)
{
    c->id = ++last_client_;
    std::erase_if(clients_, [](auto& known) { return known.expired(); });
    clients_.push_back(c);
}

bool server::end_client(std::uint64_t id)
{
    for (auto const& known : clients_) {
        auto const c = known.lock();
        if (!c || c->id != id || c->ended)
            continue;
        world_.tell("{} ends connection {}", name, id);
        return c->ended = true;
    }
    return false;
}

std::vector<std::shared_ptr<client>> server::clients() const
{
    std::vector<std::shared_ptr<client>> all;
    for (auto const& known : clients_) {
        if (auto c = known.lock())
            all.push_back(std::move(c));
    }
    return all;
}

node_reply server::apply(node_command const& c, clock::time_point now, bool tombstone, client const* from, clock::time_point sent)
{
    auto answer = keys.carry_out(c, now, tombstone, from);
    bool const set = answer.healed || (c.what == node_command::kind::acquire && answer.vote == vote::granted);
    if (set) {
        for (auto const& key : c.any ? key_view(c.keys.subspan(answer.chosen, 1)) : c.keys)
            world_.note_taking(key);
        note_lateness(c.value, world_.now - sent > c.ttl);
    }
    world_.tell("{} {} {} {}: {}", name, name_of(c.what), c.key(), c.value.substr(0, 8), answer.vote == vote::granted ? "yes" : "no");
    return answer;
}

void server::watch(std::string key, std::shared_ptr<client> const& c)
{
    world_.tell("{} will tell connection {} of {}", name, c->id, key);
    keys.watch(std::move(key), c.get(), [weak = std::weak_ptr(c)](std::string const& changed) {
        if (auto const alive = weak.lock())
            alive->tell(changed);
    });
}

std::shared_ptr<node> server::make_node(process& p, config const& settings, std::shared_ptr<redis::group> const& group)
{
    return redis::make_redis_node(redis::parse_url("redis://" + name), settings, group, std::make_shared<link>(world_, p, *this));
}

void server::note_lateness(std::string_view value, bool late)
{
    if (late)
        late_.emplace(value);
}

void server::crash(bool forget)
{
    if (!alive_)
        return;
    world_.tell("{} crashes{}", name, forget ? " and forgets" : "");
    alive_ = paused_ = false;
    ++life_;
    inbox_.clear();
    clients_.clear();
    last_client_ = 0;  // the numbers are given anew
    scripts.clear();
    keys.watchers.clear();
    if (forget) {
        keys.entries.clear();
        keys.counters.clear();
        keys.tombstones.clear();
        keys.wanted.clear();
        keys.readers.clear();
        keys.handovers.clear();
        life_mark.clear();
    }
}

void server::start()
{
    if (!alive_)
        world_.tell("{} is back", name), started_ = world_.now;
    alive_ = true;
}

void server::pause(bool yes)
{
    if (!alive_ || paused_ == yes)
        return;
    world_.tell("{} {}", name, yes ? "stands still" : "goes on");
    paused_ = yes;
    if (!yes) {
        for (auto const& what : std::exchange(inbox_, {}))
            what();
    }
}

void server::refuse(std::string_view words)
{
    world_.tell("{} {}", name, words.empty() ? "accepts again" : "refuses: " + std::string(words));
    refusal_ = words;
}

void server::flush_scripts()
{
    world_.tell("{} forgets its scripts", name);
    scripts.clear();
}

void server::evict()
{
    if (keys.entries.empty())
        return;
    auto victim = keys.entries.begin();
    std::advance(victim, static_cast<std::ptrdiff_t>(world_.random.below(keys.entries.size())));
    world_.tell("{} evicts {}", name, victim->first);
    keys.entries.erase(victim);
}

void server::jump(clock::duration d)
{
    world_.tell("{}: its clock jumps by {} ms", name, d / 1ms);
    std::erase_if(keys.entries, [now = clock_now()](auto& e) { return e.second.expires <= now; });  // they do not come back
    offset_ += d;
}

}  // namespace redlock::sim
