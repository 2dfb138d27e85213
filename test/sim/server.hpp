#pragma once

#include "memory/lock_table.hpp"

#include <redlock/error.hpp>
#include <redlock/node.hpp>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace redlock::sim {

class world;

/// A command as it travels: a copy, because who asked may be gone before it arrives.
struct request {
    request(node_operation const& o, clock::time_point when)
        : command(o.command()), tombstone(o.leaves_tombstone(o.sent_on())), sent(when), keys_(command.keys.begin(), command.keys.end()),
          value_(command.value), contender_(command.contender)
    {
        command.keys = keys_;
        command.value = value_;
        command.contender = contender_;
    }
    request(request const&) = delete;
    request& operator=(request const&) = delete;

    node_command command;
    bool const tombstone;
    clock::time_point const sent;

private:
    std::vector<std::string> const keys_;
    std::string const value_;
    std::string const contender_;
};

/// A lock server with a clock of its own.
class server {
public:
    server(world&, std::size_t index, double rate);

    std::string const name;

    /// What its clock shows.
    clock::time_point clock_now() const;

    bool alive() const noexcept { return alive_; }
    bool paused() const noexcept { return paused_; }
    bool refuses() const noexcept { return refusal_.failed(); }
    /// When its present life began.
    clock::time_point started() const noexcept { return started_; }
    /// Changes with each crash: what was under way to an earlier life does not arrive.
    std::uint32_t life() const noexcept { return life_; }

    /// A request has arrived. It is carried out at once, or when the server goes on; then @p reply is called.
    void receive(std::shared_ptr<request>, std::function<void(node_reply)> reply);

    /// Something else has, to be done in the same order.
    void receive(std::function<void()> what);

    // Faults.
    void crash(bool forget);
    void start();
    void pause(bool);
    void refuse(error_code);
    void evict();
    void jump(clock::duration);

    detail::lock_table keys;

    /// Whether a key was set by a request that arrived later than its ttl: nobody promises to delete it.
    bool is_ghost(detail::lock_table::entry const& e) const { return ghosts_.contains(e.value); }

private:
    void carry_out(request const&, std::function<void(node_reply)> const& reply);

    world& world_;
    double const rate_;
    clock::duration offset_{0};
    bool alive_ = true;
    bool paused_ = false;
    std::uint32_t life_ = 1;
    clock::time_point started_{};
    error_code refusal_;
    std::set<std::string, std::less<>> ghosts_;
    std::vector<std::function<void()>> inbox_;  // while it stands still
};

}  // namespace redlock::sim
