#pragma once

#include "sim/server.hpp"

#include <redlock/node.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace redlock::sim {

class process;

/** A process' way to a server: one connection at a time, opened on first use and again after it broke.

    As over TCP: what is sent on one connection arrives in its order or not at all, and what was under way when it
    broke may be carried out much later, without an answer. Unless the server ends it first: in some worlds a new connection
    asks for the end of the one before, as the Redis node does.
*/
class link final : public node, public std::enable_shared_from_this<link> {
public:
    link(world&, process&, server&);

    std::string const& name() const noexcept override { return server_.name; }
    bool ready() const noexcept override { return state_ == state::up; }
    bool notifies() const noexcept override;
    bool may_still_execute(std::uint32_t connection) const override { return connection <= lingering_; }
    void start(asio::any_io_executor executor, node_events events) override
    {
        executor_ = std::move(executor);
        events_ = std::move(events);
    }
    void submit(std::shared_ptr<node_operation>) override;
    void close() override;
    void abandon() override;

private:
    enum class state { idle, connecting, up, down, closed };

    /// One connection. Packets that are under way share it.
    struct connection {
        std::uint32_t number;
        std::uint32_t server_life;
        bool broken = false;
        bool ended = false;                 ///< by the server, too: nothing of it is carried out any more
        std::uint64_t late_up_to = 0;       ///< of a broken one: packets up to this number arrive all the same …
        clock::duration late_by{0};         ///< … this much later
        std::uint64_t last_packet = 0;
        clock::time_point last_arrival{};
        clock::time_point last_reply{};
    };

    struct in_flight {
        std::uint64_t packet;
        std::shared_ptr<node_operation> operation;
        clock::time_point sent;
    };

    void on_process(std::function<void()> what);
    clock::time_point arrival(clock::time_point earliest);
    clock::time_point reply_arrival(clock::time_point earliest);
    void connect();
    void connected(bool success);
    void end(std::shared_ptr<connection> const& earlier, std::uint32_t lingering_before);
    void flush_soon();
    void flush();
    void refuse_queue();
    void send(std::shared_ptr<node_operation>);
    void tell(std::shared_ptr<connection> const&, std::string const& key);
    void deliver(std::shared_ptr<connection> const&, std::uint64_t packet, std::shared_ptr<request> const&);
    void answered(std::shared_ptr<connection> const&, std::uint64_t packet, node_reply);
    void watch();
    void break_off(std::string_view why);

    world& world_;
    process& process_;
    server& server_;
    asio::any_io_executor executor_;
    state state_ = state::idle;
    bool trouble_ = false;                   ///< the latest attempt to connect failed
    bool flush_due_ = false;
    unsigned failures_ = 0;
    std::uint32_t connections_ = 0;
    std::uint32_t lingering_ = 0;            ///< what was sent on this connection, or on earlier ones, may still be carried out
    std::shared_ptr<connection> connection_;
    server_identity identity_;
    node_events events_;
    std::vector<std::shared_ptr<node_operation>> queue_;
    std::deque<in_flight> in_flight_;
};

}  // namespace redlock::sim
