#pragma once

#include "sim/client.hpp"
#include "sim/process.hpp"
#include "sim/world.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::sim {

namespace asio = boost::asio;

/** The network between a process and a server, in place of sockets: one connection after another.

    As over TCP, the messages of one connection arrive in their order or not at all. If a connection breaks, messages
    under way may be carried out much later, without an answer, unless the server ends the connection first.
*/
class network : public std::enable_shared_from_this<network> {
public:
    /// Handles a packet on the server. @return the function by which the process handles the answer
    using request = std::function<std::function<void()>(std::shared_ptr<client> const&)>;

    /// Bytes that arrive together.
    struct packet {
        request carry_out;
        std::function<void()> lost;  ///< called if no answer will come
        /// Until when the server must wait before it can carry this out, and everything behind it. Empty: it need not
        /// wait.
        std::function<clock::time_point()> waits{};
    };

    /// Gets the events of the network, on the process' event loop.
    class owner {
    public:
        /// @p there: the connection; null: no connection was made.
        virtual void opened(std::shared_ptr<client> const& there) = 0;
        /// Gets a push, which travels with the answers, and is lost with the connection.
        virtual void told(std::string const& what) = 0;
        /// The connection has ended. @p lost: what to call for each unanswered packet.
        virtual void broken(std::string_view why, std::vector<std::function<void()>> lost) = 0;

    protected:
        ~owner() = default;
    };

    network(world& w, process& p, server& s) : world_(w), process_(p), server_(s) {}

    void start(asio::any_io_executor on, owner& o)
    {
        executor_ = std::move(on);
        owner_ = &o;
    }

    // The kernel of a paused server still accepts connections.
    void open()
    {
        auto const self = shared_from_this();
        auto const give_up = world_.now + process_.settings().connect_timeout;
        auto const back = arrival({}) + world_.random.between(world_.conditions.delay_min, world_.conditions.delay_max);
        world_.at(std::min(back, give_up), [self, in_time = back < give_up] {
            self->on_process([self, success = in_time && self->server_.alive()] {
                if (success && self->server_.alive())
                    self->connected();
                else
                    self->owner_->opened(nullptr);
            });
        });
    }

    void send(packet what)
    {
        auto const c = connection_;
        auto const p = std::make_shared<numbered const>(numbered{std::move(what), ++c->last_packet});
        c->unanswered.push_back(p);
        c->last_arrival = arrival(c->last_arrival);
        world_.at(c->last_arrival, [self = shared_from_this(), c, p] { self->deliver(c, p); });
        if (world_.faults_on() && world_.random.chance(world_.conditions.break_chance)) {
            world_.after(world_.random.spread(10us, 10ms), [self = shared_from_this(), c] {
                self->on_process([self, c] {
                    if (!c->broken)
                        self->break_off("it breaks");
                });
            });
        }
    }

    /// Ends the connection later; then the owner is told.
    void cut()
    {
        world_.after(0ms, [self = shared_from_this(), c = connection_] {
            self->on_process([self, c] {
                if (c && !c->broken)
                    self->break_off("it is given up");
            });
        });
    }

    /// Ends for good. Messages under way do not arrive, and the owner gets no more events.
    void close()
    {
        owner_ = nullptr;
        if (auto const c = std::exchange(connection_, {}))
            c->broken = true;
        executor_ = {};
    }

    /// Like @ref close, but messages under way may arrive. @return what to call for each unanswered packet
    std::vector<std::function<void()>> leave()
    {
        auto lost = connection_ ? part("it is closed") : std::vector<std::function<void()>>();
        close();
        return lost;
    }

    /// Calls @p what when the process next runs.
    void on_process(std::function<void()> what)
    {
        if (!owner_)
            return;
        asio::post(executor_, [self = shared_from_this(), what = std::move(what)] {
            if (self->owner_)
                what();
        });
        process_.run();
    }

    /// Whether pushes that are read together with answers are handed out before the answers.
    bool pushes_first() const noexcept { return connection_ && connection_->pushes_first; }

private:
    struct numbered : packet {
        std::uint64_t number = 0;
    };
    using packet_ptr = std::shared_ptr<numbered const>;

    struct connection : client {
        std::uint32_t server_life = 0;
        bool broken = false;
        std::uint64_t late_up_to = 0;  ///< after it broke, packets up to this number still arrive …
        clock::duration late_by{0};    ///< … this much later
        std::uint64_t last_packet = 0;
        clock::time_point last_arrival{};
        clock::time_point last_reply{};
        clock::time_point busy_until{};  ///< earlier packets wait until then
        std::deque<packet_ptr> unanswered;
        bool pushes_first = false;
    };
    using connection_ptr = std::shared_ptr<connection>;

    // When a message that leaves now arrives, but not before @p earliest.
    clock::time_point arrival(clock::time_point earliest)
    {
        auto const& w = world_.conditions;
        auto delay = world_.random.between(w.delay_min, w.delay_max);
        if (world_.faults_on() && world_.random.chance(w.tail.chance))
            delay = world_.random.spread(w.delay_max, w.tail.longest);
        auto const healed = world_.partition(process_, server_);
        if (healed > world_.now)  // TCP retransmits it, with growing pauses
            return std::max(earliest,
                            healed + world_.random.between(0ms, std::max<clock::duration>(healed - world_.now, 1ms)));
        return std::max(earliest, world_.now + delay);
    }

    clock::time_point reply_arrival(clock::time_point earliest)
    {
        auto const at = arrival(earliest);
        auto const& w = world_.conditions;
        return world_.faults_on() && world_.random.chance(w.reply_tail.chance)
                   ? at + world_.random.spread(w.delay_max, w.reply_tail.longest)
                   : at;
    }

    void connected()
    {
        auto const c = connection_ = std::make_shared<connection>();
        c->server_life = server_.life();
        c->pushes_first = world_.random.chance(0.5);
        c->tell = [weak = weak_from_this(), known = std::weak_ptr(c)](std::string const& what) {
            auto const self = weak.lock();
            if (auto const alive = known.lock(); self && alive)
                self->tell(alive, what);
        };
        server_.admit(c);
        world_.tell("{} connects to {}: connection {}", process_.name(), server_.name, c->id);
        owner_->opened(c);
        look_whether_it_is_there();
    }

    void deliver(connection_ptr const& c, packet_ptr const& p)
    {
        if (server_.life() != c->server_life || c->ended)
            return;
        if (c->broken) {
            if (p->number > c->late_up_to)
                return;
            // The packets behind it are late by as much.
            auto const late = std::exchange(c->late_by, clock::duration::zero());
            c->last_arrival = std::max(c->last_arrival, world_.now + late);
            if (world_.now < c->last_arrival)
                return world_.at(c->last_arrival, [self = shared_from_this(), c, p] { self->deliver(c, p); });
        }
        server_.receive([self = shared_from_this(), c, p] { self->carry_out(c, p); });
    }

    void carry_out(connection_ptr const& c, packet_ptr const& p)
    {
        if (c->ended || server_.life() != c->server_life)
            return;
        if (world_.now >= c->busy_until && p->waits)
            c->busy_until = p->waits();
        if (world_.now < c->busy_until) {
            return world_.at(c->busy_until, [self = shared_from_this(), c, p] {
                self->server_.receive([self, c, p] { self->carry_out(c, p); });
            });
        }
        auto heard = p->carry_out(c);
        if (c->broken)
            return;
        c->last_reply = reply_arrival(c->last_reply);
        world_.at(c->last_reply, [self = shared_from_this(), c, p, heard = std::move(heard)] {
            self->on_process([self, c, p, heard] { self->answered(c, p, heard); });
        });
    }

    void answered(connection_ptr const& c, packet_ptr const& p, std::function<void()> const& heard)
    {
        if (c->broken || c->unanswered.empty() || c->unanswered.front() != p)
            return;
        c->unanswered.pop_front();
        heard();
    }

    void tell(connection_ptr const& c, std::string const& what)
    {
        if (c->broken)
            return;
        world_.tell("{} tells {} of {}", server_.name, process_.name(), what);
        ++server_.pushes;
        c->last_reply = reply_arrival(c->last_reply);
        world_.at(c->last_reply, [self = shared_from_this(), c, what] {
            self->on_process([self, c, what] {
                if (!c->broken)
                    self->owner_->told(what);
            });
        });
    }

    // Notices that the server has crashed.
    void look_whether_it_is_there()
    {
        world_.after(world_.random.between(50ms, 200ms), [self = shared_from_this(), c = connection_] {
            if (c->broken)
                return;
            if (self->server_.life() != c->server_life
                && self->world_.partition(self->process_, self->server_) <= self->world_.now) {
                return self->on_process([self, c] {
                    if (!c->broken)
                        self->break_off("the server has gone");
                });
            }
            self->look_whether_it_is_there();
        });
    }

    void break_off(std::string_view why)
    {
        auto lost = part(why);
        owner_->broken(why, std::move(lost));
    }

    // Messages under way arrive late: all of them, those up to some packet, or none.
    std::vector<std::function<void()>> part(std::string_view why)
    {
        auto const c = std::exchange(connection_, {});
        world_.tell("{} loses its connection to {}: {}", process_.name(), server_.name, why);
        c->broken = true;
        if (!c->unanswered.empty()) {
            c->late_up_to = c->unanswered.front()->number - 1 + world_.random.below(c->unanswered.size() + 1);
            constexpr clock::duration late_max = 3s;  // milliseconds are as likely as seconds
            c->late_by = world_.random.chance(0.5)   ? 0ms
                         : world_.random.chance(0.5) ? world_.random.spread(1ms, late_max)
                                                     : world_.random.between(0ms, late_max);
            process_.disturbed_until(server_, std::max(c->last_arrival, world_.now) + c->late_by);
        }
        process_.contact_changed(server_);
        std::vector<std::function<void()>> lost;
        for (auto const& p : std::exchange(c->unanswered, {}))
            lost.push_back(p->lost);
        return lost;
    }

    world& world_;
    process& process_;
    server& server_;
    asio::any_io_executor executor_;
    owner* owner_ = nullptr;     ///< null after it was closed
    connection_ptr connection_;  ///< null while there is none
};

}  // namespace redlock::sim
