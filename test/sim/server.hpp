#pragma once

#include "sim/client.hpp"
#include "sim/world.hpp"
#include "stores/memory/lock_table.hpp"

#include <redlock/clock.hpp>
#include <redlock/config.hpp>
#include <redlock/node.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::redis {
class group;
}

namespace redlock::sim {

class process;

/// What a command does, for the history.
constexpr std::string_view name_of(node_command::kind what)
{
    constexpr std::array<std::string_view, 9> names{"acquire", "raise",   "extend",    "release", "inspect",
                                                    "connect", "upgrade", "downgrade", "withdraw"};
    return names[static_cast<std::size_t>(what)];
}

/// A lock server with a clock of its own. What a Redis server does with commands is in commands.cpp.
class server {
public:
    server(sim::world& w, std::size_t index, double rate)
        : name(fmt::format("s{}", index)),
          life_mark(fmt::format("{}-1 0 - first", name)),
          world_(w),
          rate_(rate),
          deletes_if_equal_(w.random.chance(0.3))
    {
    }

    virtual ~server() = default;
    server(server const&) = delete;
    server& operator=(server const&) = delete;

    std::string const name;

    sim::world& world() const noexcept { return world_; }

    /// What its clock shows.
    clock::time_point clock_now() const
    {
        auto const passed = world_.now.time_since_epoch();
        return world_.now + clock::duration(static_cast<clock::rep>(static_cast<double>(passed.count()) * rate_))
               + offset_;
    }

    bool alive() const noexcept { return alive_; }
    bool paused() const noexcept { return paused_; }
    /// The words with which it refuses everything about keys; empty: it does not.
    std::string_view refusal() const noexcept { return refusal_; }
    bool refuses() const noexcept { return !refusal_.empty(); }
    /// When its present life began.
    clock::time_point started() const noexcept { return started_; }
    /// Changes with each crash: what was under way to an earlier life does not arrive.
    std::uint32_t life() const noexcept { return life_; }
    bool deletes_if_equal() const noexcept { return deletes_if_equal_; }

    /// Something has arrived: done at once, or, in its order, when the server goes on.
    void receive(std::function<void()> what)
    {
        if (!alive_)
            return;
        if (paused_)
            inbox_.push_back(std::move(what));
        else
            what();
    }

    // Connections.
    void admit(std::shared_ptr<client> const& c)
    {
        c->id = ++last_client_;
        std::erase_if(clients_, [](auto& known) { return known.expired(); });
        clients_.push_back(c);
    }

    /// @return whether there was one of that number
    bool end_client(std::uint64_t id)
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

    std::vector<std::shared_ptr<client>> clients() const
    {
        std::vector<std::shared_ptr<client>> all;
        for (auto const& known : clients_) {
            if (auto c = known.lock())
                all.push_back(std::move(c));
        }
        return all;
    }

    void watch(std::string key, std::shared_ptr<client> const& c)
    {
        world_.tell("{} will tell connection {} of {}", name, c->id, key);
        keys.watch(std::move(key), c.get(), [weak = std::weak_ptr(c)](std::string const& changed) {
            if (auto const alive = weak.lock())
                alive->tell(changed);
        });
    }

    /// Does to its keys what was @p sent in true time, at @p now of its clock.
    node_reply apply(node_command const& c, clock::time_point now, bool tombstone, client const* from,
                     clock::time_point sent)
    {
        auto answer = keys.carry_out(c, now, tombstone, from);
        bool const set = answer.healed || (c.what == node_command::kind::acquire && answer.vote == vote::granted);
        if (set) {
            for (auto const& key : c.any ? key_view(c.keys.subspan(answer.chosen, 1)) : c.keys)
                world_.note_taking(key);
            note_lateness(c.value, world_.now - sent > c.ttl);
        }
        world_.tell("{} {} {} {}: {}", name, name_of(c.what), c.key(), c.value.substr(0, 8),
                    answer.vote == vote::granted ? "yes" : "no");
        return answer;
    }

    /// One of its keys; the end if it has none.
    auto any_key()
    {
        auto const skipped = keys.entries.empty() ? 0 : world_.random.below(keys.entries.size());
        return std::next(keys.entries.begin(), static_cast<std::ptrdiff_t>(skipped));
    }

    // Faults.
    virtual void crash(bool forget)
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

    virtual void start()
    {
        if (!alive_)
            world_.tell("{} is back", name), started_ = world_.now;
        alive_ = true;
    }

    void pause(bool yes)
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

    void refuse(std::string_view words)
    {
        world_.tell("{} {}", name, words.empty() ? "accepts again" : "refuses: " + std::string(words));
        refusal_ = words;
    }

    virtual void evict()
    {
        auto const victim = any_key();
        if (victim == keys.entries.end())
            return;
        world_.tell("{} evicts {}", name, victim->first);
        keys.entries.erase(victim);
    }

    virtual void jump(clock::duration d)
    {
        world_.tell("{}: its clock jumps by {} ms", name, d / 1ms);
        std::erase_if(keys.entries, [now = clock_now()](auto& e) { return e.second.expires <= now; });  // they do not
                                                                                                        // come back
        offset_ += d;
    }

    void flush_scripts()
    {
        world_.tell("{} forgets its scripts", name);
        scripts.clear();
    }

    // What only some kinds of servers know.
    virtual void lock_a_row(clock::duration) {}     ///< of a table, for so long
    virtual void change_leader(clock::duration) {}  ///< of which some hear so much later
    /// Whether a key that its owner has not deleted stays until a session ends, however short its ttl.
    virtual bool has_sessions() const { return false; }
    /// Whether who connects is told that it is new in its place, and may have forgotten; of itself, not of how the
    /// others are.
    virtual bool tells_of_promotions() const { return false; }

    /// The shipped node, on a simulated network.
    virtual std::shared_ptr<node> make_node(process&, config const&, std::shared_ptr<stores::redis::group> const&);

    stores::memory::lock_table keys;
    std::set<std::string, std::less<>> scripts;  ///< by their digests

    std::string life_mark;          ///< its life marker, which is there from the beginning; empty: there is none
    clock::time_point marked_at{};  ///< by its clock

    /// A request has set a key to @p value: @p late, if after its ttl. Then nobody promises to delete it.
    void note_lateness(std::string_view value, bool late)
    {
        if (late)
            late_.emplace(value);
    }

    bool came_late(stores::memory::lock_table::entry const& e) const { return late_.contains(e.value); }

private:
    sim::world& world_;
    double const rate_;
    bool const deletes_if_equal_;
    clock::duration offset_{0};
    bool alive_ = true;
    bool paused_ = false;
    std::uint32_t life_ = 1;
    clock::time_point started_{};
    std::string refusal_;
    std::uint64_t last_client_ = 0;
    std::vector<std::weak_ptr<client>> clients_;
    std::set<std::string, std::less<>> late_;
    std::vector<std::function<void()>> inbox_;  // while it stands still
};

}  // namespace redlock::sim
