#pragma once

#include "sim/client.hpp"
#include "sim/world.hpp"
#include "stores/memory/lock_table.hpp"

#include <redlock/clock.hpp>
#include <redlock/manager_options.hpp>
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

/// The name of a command, for the history.
constexpr std::string_view name_of(node_command::kind what)
{
    constexpr std::array<std::string_view, 10> names{"acquire", "raise",   "extend",    "release", "inspect",
                                                     "connect", "upgrade", "downgrade", "replace", "withdraw"};
    return names[static_cast<std::size_t>(what)];
}

/// A lock server with a clock of its own. For a Redis server, commands.cpp carries out the commands.
class server {
public:
    server(sim::world& w, std::size_t index, double rate)
        : name(fmt::format("s{}", index)), world_(w), rate_(rate), deletes_if_equal_(w.random.chance(0.3))
    {
        // A manager founds no set with nodes that never forget.
        if (w.conditions.guard != restart_guard::automatic || w.conditions.stores == store_kind::mixed)
            record = {.word = "first", .began = 'F'};
    }

    virtual ~server() = default;
    server(server const&) = delete;
    server& operator=(server const&) = delete;

    std::string const name;

    sim::world& world() const noexcept { return world_; }

    /// The time that its clock shows.
    clock::time_point clock_now() const
    {
        auto const passed = world_.now.time_since_epoch();
        return world_.now + clock::duration(static_cast<clock::rep>(static_cast<double>(passed.count()) * rate_))
               + offset_;
    }

    bool alive() const noexcept { return alive_; }
    bool paused() const noexcept { return paused_; }
    /// The error with which it refuses commands about keys; empty: it does not refuse.
    std::string_view refusal() const noexcept { return refusal_; }
    bool refuses() const noexcept { return !refusal_.empty(); }
    /// When its present life began.
    clock::time_point started() const noexcept { return started_; }
    /// Changes with each crash: requests to an earlier life do not arrive.
    std::uint32_t life() const noexcept { return life_; }
    bool deletes_if_equal() const noexcept { return deletes_if_equal_; }

    /// Does what a message asks: at once, or, if the server is paused, later in the order of arrival.
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

    /// @return whether there was a connection of that number
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

    /// Carries out a command that was @p sent in true time, at @p now by the server's clock.
    node_reply apply(node_command const& c, clock::time_point now, bool tombstone, client const* from,
                     clock::time_point sent)
    {
        auto answer = keys.carry_out(c, now, tombstone, from);
        bool const set = answer.healed || (c.which() == node_command::kind::acquire && answer.vote == vote::granted);
        if (set) {
            for (auto const& key : c.wants_any() ? key_view(c.keys.subspan(answer.chosen, 1)) : c.keys)
                world_.note_taking(key);
            note_lateness(c.value, world_.now - sent > c.ttl);
        }
        world_.tell("{} {} {} {}: {}", name, name_of(c.which()), c.key(), c.value.substr(0, 8),
                    answer.vote == vote::granted ? "yes" : "no");
        return answer;
    }

    /// A random key; the end if there is none.
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
        last_client_ = 0;  // connection numbers begin again
        scripts.clear();
        keys.watchers.clear();
        if (forget) {
            keys.entries.clear();
            keys.counters.clear();
            keys.tombstones.clear();
            keys.wanted.clear();
            keys.readers.clear();
            keys.handovers.clear();
            keys.places.clear();
            record = {};
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
        // Keys that have expired do not come back.
        std::erase_if(keys.entries, [now = clock_now()](auto& e) { return e.second.expires <= now; });
        offset_ += d;
    }

    void flush_scripts()
    {
        world_.tell("{} forgets its scripts", name);
        scripts.clear();
    }

    // For some kinds of servers only.
    virtual void lock_a_row(clock::duration) {}     ///< locks a row of a table for this time
    virtual void change_leader(clock::duration) {}  ///< some processes hear of it this much later

    /// Whether a key that its owner has not deleted stays until a session ends, even after its ttl.
    virtual bool has_sessions() const { return false; }
    /// Whether the server tells its clients that it is new in its place and may have forgotten. It knows only about
    /// itself, not about the other servers.
    virtual bool tells_of_promotions() const { return false; }

    /// The shipped node, on a simulated network.
    virtual std::shared_ptr<node> make_node(process&, manager_options const&,
                                            std::shared_ptr<stores::redis::group> const&);

    std::uint64_t commands = 0;  ///< from clients
    std::uint64_t pushes = 0;    ///< to clients

    stores::memory::lock_table keys;
    std::set<std::string, std::less<>> scripts;  ///< digests

    /// The record of its memory: see scripts/record.lua. Without a word there is none.
    struct {
        std::string word{};
        char began = 'f';
        clock::time_point since{};  ///< by its clock
        std::uint32_t run = 1;      ///< the life that has signed it
        std::uint32_t first_run = 1;
    } record;

    /// Notes that a request has set a key to @p value. If it came @p late, after its ttl, nobody promises to delete the
    /// key.
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
    std::vector<std::function<void()>> inbox_;  // messages that came during a pause
};

}  // namespace redlock::sim
