#pragma once

#include "sim/client.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::sim {

namespace asio = boost::asio;

class process;
class server;
class world;

/** The network between a process and a server, in place of sockets: one connection after another.

    As over TCP: what is sent on one connection arrives in its order or not at all, and what was under way when it
    broke may be carried out much later, without an answer; unless the server ends it first.
*/
class wire : public std::enable_shared_from_this<wire> {
public:
    /// What a server does with a packet. @return what the process does once it has the answer
    using request = std::function<std::function<void()>(std::shared_ptr<client> const&)>;

    /// What travels at once.
    struct packet {
        request carry_out;
        std::function<void()> lost;  ///< no answer will come
        /// Until when the server must wait before it can carry this out, and with it all that is behind it. Empty: it need not.
        std::function<clock::time_point()> waits{};
    };

    /// Who is told what happens, on the process' event loop.
    class owner {
    public:
        /// @p there: the connection; null: none has come about.
        virtual void opened(std::shared_ptr<client> const& there) = 0;
        /// A push: it travels with the answers, and is lost with the connection.
        virtual void told(std::string const& what) = 0;
        /// The connection has ended. @p lost: what to call for each packet that is unanswered.
        virtual void broken(std::string_view why, std::vector<std::function<void()>> lost) = 0;

    protected:
        ~owner() = default;
    };

    wire(world& w, process& p, server& s) : world_(w), process_(p), server_(s) {}

    void start(asio::any_io_executor on, owner& o);
    void open();
    void send(packet);
    void cut();    ///< the owner is told when the connection has ended
    void close();  ///< for good; what is under way does not arrive, and the owner is told nothing more

    /// The same, but what is under way may arrive. @return what to call for each packet that is unanswered
    std::vector<std::function<void()>> leave();

    /// Calls @p what when the process next runs.
    void on_process(std::function<void()> what);

    /// Whether pushes that are read together with answers are handed out before them.
    bool pushes_first() const noexcept { return connection_ && connection_->pushes_first; }

private:
    struct numbered : packet {
        std::uint64_t number = 0;
    };
    using packet_ptr = std::shared_ptr<numbered const>;

    struct connection : client {
        std::uint32_t server_life = 0;
        bool broken = false;
        std::uint64_t late_up_to = 0;       ///< of a broken one: packets up to this number arrive all the same …
        clock::duration late_by{0};         ///< … this much later
        std::uint64_t last_packet = 0;
        clock::time_point last_arrival{};
        clock::time_point last_reply{};
        clock::time_point busy_until{};     ///< what was sent before is waited for
        std::deque<packet_ptr> unanswered;
        bool pushes_first = false;
    };
    using connection_ptr = std::shared_ptr<connection>;

    clock::time_point arrival(clock::time_point earliest);
    clock::time_point reply_arrival(clock::time_point earliest);
    void connected();
    void deliver(connection_ptr const&, packet_ptr const&);
    void carry_out(connection_ptr const&, packet_ptr const&);
    void answered(connection_ptr const&, packet_ptr const&, std::function<void()> const& heard);
    void tell(connection_ptr const&, std::string const& what);
    void look_whether_it_is_there();
    void break_off(std::string_view why);
    std::vector<std::function<void()>> part(std::string_view why);

    world& world_;
    process& process_;
    server& server_;
    asio::any_io_executor executor_;
    owner* owner_ = nullptr;     ///< null after the end
    connection_ptr connection_;  ///< null while there is none
};

}  // namespace redlock::sim
