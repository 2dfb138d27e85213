#pragma once

#include "sim/client.hpp"
#include "stores/memory/lock_table.hpp"

#include <redlock/clock.hpp>
#include <redlock/config.hpp>
#include <redlock/node.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::redis {
class group;
}

namespace redlock::sim {

class process;
class world;

/// A lock server with a clock of its own. What a Redis server does with commands is in commands.cpp.
class server {
public:
    server(sim::world&, std::size_t index, double rate);
    virtual ~server() = default;
    server(server const&) = delete;
    server& operator=(server const&) = delete;

    std::string const name;

    sim::world& world() const noexcept { return world_; }

    /// What its clock shows.
    clock::time_point clock_now() const;

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
    void receive(std::function<void()> what);

    // Connections.
    void admit(std::shared_ptr<client> const&);
    /// @return whether there was one of that number
    bool end_client(std::uint64_t id);
    std::vector<std::shared_ptr<client>> clients() const;
    void watch(std::string key, std::shared_ptr<client> const&);

    /// Does to its keys what was @p sent in true time, at @p now of its clock.
    node_reply apply(node_command const&, clock::time_point now, bool tombstone, client const* from, clock::time_point sent);

    // Faults.
    virtual void crash(bool forget);
    virtual void start();
    void pause(bool);
    void refuse(std::string_view words);
    virtual void evict();
    virtual void jump(clock::duration);

    void flush_scripts();

    // What only some kinds of servers know.
    virtual void lock_a_row(clock::duration) {}     ///< of a table, for so long
    virtual void change_leader(clock::duration) {}  ///< of which some hear so much later
    /// Whether a key that its owner has not deleted stays until a session ends, however short its ttl.
    virtual bool has_sessions() const { return false; }
    /// Whether who connects is told that it is new in its place, and may have forgotten; of itself, not of how the others are.
    virtual bool tells_of_promotions() const { return false; }

    /// The shipped node, on a simulated network.
    virtual std::shared_ptr<node> make_node(process&, config const&, std::shared_ptr<redis::group> const&);

    detail::lock_table keys;
    std::set<std::string, std::less<>> scripts;  ///< by their digests

    std::string life_mark;           ///< its life marker, which is there from the beginning; empty: there is none
    clock::time_point marked_at{};   ///< by its clock

    /// A request has set a key to @p value: @p late, if after its ttl. Then nobody promises to delete it.
    void note_lateness(std::string_view value, bool late);
    bool came_late(detail::lock_table::entry const& e) const { return late_.contains(e.value); }

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
