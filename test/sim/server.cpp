#include "sim/server.hpp"

#include "sim/world.hpp"

#include <utility>

namespace redlock::sim {

server::server(world& w, std::size_t index, double rate) : name(fmt::format("s{}", index)), world_(w), rate_(rate) {}

clock::time_point server::clock_now() const
{
    auto const passed = world_.now.time_since_epoch();
    return world_.now + clock::duration(static_cast<clock::rep>(static_cast<double>(passed.count()) * rate_)) + offset_;
}

void server::receive(std::shared_ptr<request> r, std::function<void(node_reply)> reply)
{
    receive([this, r = std::move(r), reply = std::move(reply)] { carry_out(*r, reply); });
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

void server::carry_out(request const& r, std::function<void(node_reply)> const& reply)
{
    using kind = node_command::kind;
    auto const& c = r.command;
    node_reply answer;
    if (refusal_) {
        answer.untouched = true;
        answer.error = refusal_;
    } else {
        // A Redis server sees the time in milliseconds, and as it was a moment ago: a key may go 2 ms early.
        auto const seen = clock_now() - world_.random.between(0ms, 1ms);
        auto const in_ms = std::chrono::floor<std::chrono::milliseconds>(seen);
        answer = keys.carry_out(c, c.what == kind::acquire || c.what == kind::extend ? clock::time_point(in_ms) : clock_now(), r.tombstone);
    }
    bool const set = answer.healed || (c.what == kind::acquire && answer.vote == vote::granted);
    if (set)
        world_.note_taking(c.key());
    if (set && world_.now - r.sent > c.ttl)
        ghosts_.emplace(c.value);
    world_.tell("{} {} {} {}: {}", name, c.what == kind::acquire  ? "acquire"
                                         : c.what == kind::raise  ? "raise"
                                         : c.what == kind::extend ? "extend"
                                         : c.what == kind::release ? "release" : "inspect",
                c.key(), c.value.substr(0, 8), answer.error ? answer.error.message() : answer.vote == vote::granted ? "yes" : "no");
    reply(std::move(answer));
}

void server::crash(bool forget)
{
    if (!alive_)
        return;
    world_.tell("{} crashes{}", name, forget ? " and forgets" : "");
    alive_ = paused_ = false;
    ++life_;
    inbox_.clear();
    keys.watchers.clear();
    if (forget) {
        keys.entries.clear();
        keys.counters.clear();
        keys.tombstones.clear();
        keys.wanted.clear();
        keys.turns.clear();
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

void server::refuse(error_code ec)
{
    world_.tell("{} {}", name, ec ? "refuses: " + ec.message() : "accepts again");
    refusal_ = ec;
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
