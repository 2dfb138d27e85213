#pragma once

#include "redis/link.hpp"
#include "sim/client.hpp"

#include <redlock/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::sim {

class process;
class server;
class world;

/** The network between a process and a server, in place of sockets.

    As over TCP: what is sent on one connection arrives in its order or not at all, and what was under way when it
    broke may be carried out much later, without an answer; unless the server ends it first.
*/
class link final : public redis::link, public std::enable_shared_from_this<link> {
public:
    link(world& w, process& p, server& s) : world_(w), process_(p), server_(s) {}

    void start(std::shared_ptr<detail::runtime> const& by, listener& l) override;
    void open(std::shared_ptr<redis::batch> greeting) override;
    void keep() override;
    void send(std::shared_ptr<redis::batch> const&) override;
    void cut() override;
    void close() override;
    void abandon() override { close(); }

private:
    /// What travels at once: an operation's commands.
    struct packet {
        std::uint64_t number;
        std::shared_ptr<redis::batch> batch;  ///< whose replies these will be
        std::vector<command> commands;
        std::string value;                    ///< of the operation
        clock::time_point sent;
    };

    struct connection : client {
        std::uint32_t server_life = 0;
        bool broken = false;
        std::uint64_t late_up_to = 0;       ///< of a broken one: packets up to this number arrive all the same …
        clock::duration late_by{0};         ///< … this much later
        std::uint64_t last_packet = 0;
        clock::time_point last_arrival{};
        clock::time_point last_reply{};
        std::deque<std::shared_ptr<packet>> unanswered;
        bool pushes_first = false;          ///< of what was read at once, pushes are handed out before replies
    };
    using connection_ptr = std::shared_ptr<connection>;
    using packet_ptr = std::shared_ptr<packet>;

    void on_process(std::function<void()> what);
    clock::time_point arrival(clock::time_point earliest);
    clock::time_point reply_arrival(clock::time_point earliest);
    void connected(std::shared_ptr<redis::batch> greeting);
    void failed(std::string_view why);
    void transmit(connection_ptr const&, packet_ptr);
    void deliver(connection_ptr const&, packet_ptr const&);
    void answered(connection_ptr const&, packet_ptr const&, std::vector<redis::reply>);
    void tell(connection_ptr const&, std::string const& key);
    void look_whether_it_is_there();
    void break_off(std::string_view why);

    world& world_;
    process& process_;
    server& server_;
    std::optional<detail::strand> strand_;
    listener* listener_ = nullptr;  ///< null after the end
    connection_ptr connection_;     ///< null while there is none
};

}  // namespace redlock::sim
