#include "sim/link.hpp"

#include "sim/process.hpp"
#include "sim/world.hpp"

#include "core/key.hpp"

#include <redlock/error.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace redlock::sim {

namespace {

constexpr clock::duration patience = 2s;  // after which a connection that is silent is given up

}  // namespace

link::link(world& w, process& p, server& s) : world_(w), process_(p), server_(s) {}

void link::submit(std::shared_ptr<node_operation> o)
{
    process_.checks_submission(*o, server_);
    queue_.push_back(std::move(o));
    if (state_ == state::idle)
        connect();
    if (state_ == state::up || trouble_)
        flush_soon();
}

void link::close()
{
    auto const queue = std::exchange(queue_, {});
    auto const sent = std::exchange(in_flight_, {});
    abandon();
    for (auto& o : queue)
        o->complete({.untouched = true, .error = errc::node_closed});
    for (auto& f : sent)
        f.operation->complete({.error = errc::connection_lost});
}

void link::abandon()
{
    state_ = state::closed;
    events_ = {};
    if (connection_)
        connection_->broken = true;
    queue_.clear();
    in_flight_.clear();
    executor_ = {};
}

// Something reaches the process: it is there when the process next runs.
void link::on_process(std::function<void()> what)
{
    if (state_ == state::closed)
        return;
    asio::post(executor_, [self = shared_from_this(), what = std::move(what)] {
        if (self->state_ != state::closed)
            what();
    });
    process_.run();
}

// When a message that leaves now arrives, if not before @p earliest.
clock::time_point link::arrival(clock::time_point earliest)
{
    auto const& w = world_.weather;
    auto delay = world_.random.between(w.delay_min, w.delay_max);
    if (world_.stormy() && world_.random.chance(w.tail_chance))
        delay = world_.random.spread(w.delay_max, w.tail_max);
    auto const healed = world_.partition(process_, server_);
    if (healed > world_.now)  // TCP sends it again, with growing pauses
        return std::max(earliest, healed + world_.random.between(0ms, std::max<clock::duration>(healed - world_.now, 1ms)));
    return std::max(earliest, world_.now + delay);
}

clock::time_point link::reply_arrival(clock::time_point earliest)
{
    auto const at = arrival(earliest);
    auto const& w = world_.weather;
    return world_.stormy() && world_.random.chance(w.reply_tail_chance) ? at + world_.random.spread(w.delay_max, w.reply_tail_max) : at;
}

void link::connect()
{
    state_ = state::connecting;
    auto const self = shared_from_this();
    auto const give_up = world_.now + process_.settings().connect_timeout;
    auto const there = arrival({});
    auto const back = there + world_.random.between(world_.weather.delay_min, world_.weather.delay_max);
    auto const finish = [self](bool success) { self->on_process([self, success] { self->connected(success); }); };
    world_.at(std::min(back, give_up), [self, finish, in_time = back < give_up, give_up] {
        auto& s = self->server_;
        if (!in_time || !s.alive())
            return finish(false);
        if (!s.paused())
            return finish(true);
        self->world_.at(give_up, [finish, &s] { finish(s.alive() && !s.paused()); });
    });
}

void link::connected(bool success)
{
    if (!success || !server_.alive()) {
        trouble_ = true;
        state_ = state::down;
        ++failures_;
        flush_soon();
        auto const ceiling = std::min<clock::duration>(10ms * (1 << std::min(failures_, 6u)), 500ms);
        auto const self = shared_from_this();
        return world_.after(world_.random.between(ceiling / 2, ceiling), [self] {
            self->on_process([self] {
                if (self->state_ == state::down)
                    self->connect();
            });
        });
    }
    failures_ = 0;
    trouble_ = false;
    state_ = state::up;
    bool const knew_another = connection_ && connection_->server_life != server_.life();
    if (!connection_ || knew_another) {
        // Its uptime is told in seconds; of one that we knew before we believe our own clock.
        auto const age = knew_another ? 0s : std::max<clock::duration>(std::chrono::floor<std::chrono::seconds>(world_.now - server_.started()), 0s);
        identity_ = {.durable = !world_.weather.amnesia, .restarted = knew_another, .began = process_.clock_now() - age};
    }
    auto const lingering_before = std::exchange(lingering_, connections_);
    auto const earlier = std::exchange(connection_, std::make_shared<connection>(connection{++connections_, server_.life()}));
    world_.tell("{} connects to {} ({})", process_.name(), server_.name, connections_);
    process_.contact_changed(server_);
    events_.connected(identity_);
    if (earlier && !knew_another && world_.servers_end_connections)
        end(earlier, lingering_before);
    flush_soon();
    watch();
}

// It is the first that the server reads of the new connection. If it or its answer is lost, nobody knows any more.
void link::end(std::shared_ptr<connection> const& earlier, std::uint32_t lingering_before)
{
    auto const c = connection_;
    c->last_arrival = arrival(c->last_arrival);
    world_.at(c->last_arrival, [self = shared_from_this(), c, earlier, lingering_before] {
        if (c->broken || self->server_.life() != c->server_life)
            return;
        self->server_.receive([self, c, earlier, lingering_before] {
            earlier->ended = true;
            self->world_.tell("{} ends connection {} of {}", self->server_.name, earlier->number, self->process_.name());
            if (c->broken)
                return;
            c->last_reply = self->reply_arrival(c->last_reply);
            self->world_.at(c->last_reply, [self, c, lingering_before] {
                if (!c->broken)
                    self->on_process([self, c, lingering_before] {
                        if (!c->broken)
                            self->lingering_ = lingering_before;
                    });
            });
        });
    });
}

void link::flush_soon()
{
    if (std::exchange(flush_due_, true))
        return;
    asio::post(executor_, [self = shared_from_this()] {
        self->flush_due_ = false;
        if (self->state_ != state::closed)
            self->flush();
    });
}

void link::flush()
{
    if (state_ != state::up)
        return trouble_ ? refuse_queue() : void();
    for (auto& o : std::exchange(queue_, {})) {
        if (o->command().what == node_command::kind::connect)
            o->complete({.vote = vote::granted});
        else if (o->withdrawn() || process_.clock_now() > o->not_after)
            o->complete({.untouched = true, .error = errc::node_unreachable});
        else
            send(std::move(o));
    }
}

// Only releases wait for a server to come back.
void link::refuse_queue()
{
    for (auto& o : std::exchange(queue_, {})) {
        if (o->command().what == node_command::kind::release && process_.clock_now() <= o->not_after)
            queue_.push_back(std::move(o));
        else
            o->complete({.untouched = true, .error = errc::node_unreachable});
    }
}

void link::send(std::shared_ptr<node_operation> o)
{
    auto const c = connection_;
    auto const packet = ++c->last_packet;
    o->mark_sent(c->number);
    process_.checks_sending(*o, server_);
    auto const copy = std::make_shared<request>(*o, world_.now);
    in_flight_.push_back({packet, std::move(o), world_.now});
    c->last_arrival = arrival(c->last_arrival);
    world_.at(c->last_arrival, [self = shared_from_this(), c, packet, copy] { self->deliver(c, packet, copy); });
    if (world_.stormy() && world_.random.chance(world_.weather.break_chance)) {
        world_.after(world_.random.spread(10us, 10ms), [self = shared_from_this(), c] {
            if (!c->broken)
                self->on_process([self, c] {
                    if (!c->broken)
                        self->break_off("it breaks");
                });
        });
    }
}

void link::deliver(std::shared_ptr<connection> const& c, std::uint64_t packet, std::shared_ptr<request> const& r)
{
    if (server_.life() != c->server_life || c->ended)
        return;
    if (c->broken) {
        if (packet > c->late_up_to)
            return;
        auto const late = std::exchange(c->late_by, clock::duration::zero());  // those behind it are late by as much
        if (late > clock::duration::zero()) {
            c->last_arrival = world_.now + late;
            return world_.at(c->last_arrival, [self = shared_from_this(), c, packet, r] { self->deliver(c, packet, r); });
        }
        if (world_.now < c->last_arrival)
            return world_.at(c->last_arrival, [self = shared_from_this(), c, packet, r] { self->deliver(c, packet, r); });
    }
    server_.receive(r, [self = shared_from_this(), c, packet, r](node_reply reply) {
        if (r->command.watch && r->command.contends() && reply.vote == vote::denied && self->world_.servers_tell) {
            reply.watched = true;
            auto watched = reply.handed_on ? core::turn_key(r->command.key()) : r->command.key();
            self->world_.tell("{} will tell {} of {}, in {} ms at the latest", self->server_.name, self->process_.name(), watched,
                              reply.remaining.count());
            self->server_.keys.watch(std::move(watched), c.get(), [weak = self->weak_from_this(), c](auto const& key) {
                if (auto const link = weak.lock())
                    link->tell(c, key);
            });
        }
        if (c->broken)
            return;
        c->last_reply = self->reply_arrival(c->last_reply);
        self->world_.at(c->last_reply, [self, c, packet, reply = std::move(reply)] {
            if (!c->broken)
                self->on_process([self, c, packet, reply] { self->answered(c, packet, reply); });
        });
    });
}

void link::answered(std::shared_ptr<connection> const& c, std::uint64_t packet, node_reply reply)
{
    if (c->broken || in_flight_.empty() || in_flight_.front().packet != packet)
        return;
    auto const o = std::move(in_flight_.front().operation);
    in_flight_.pop_front();
    o->complete(std::move(reply));
}

bool link::notifies() const noexcept
{
    return ready() && world_.servers_tell;
}

// A push travels with the replies, and is lost with the connection.
void link::tell(std::shared_ptr<connection> const& c, std::string const& key)
{
    if (c->broken)
        return;
    world_.tell("{} tells {} of {}", server_.name, process_.name(), key);
    c->last_reply = reply_arrival(c->last_reply);
    world_.at(c->last_reply, [self = shared_from_this(), c, key] {
        if (!c->broken)
            self->on_process([self, c, key] {
                if (!c->broken && self->events_.changed)
                    self->events_.changed(key);
            });
    });
}

// Notices that the other side has gone, or says nothing any more.
void link::watch()
{
    auto const self = shared_from_this();
    world_.after(world_.random.between(50ms, 200ms), [self, c = connection_] {
        if (c->broken || self->state_ != state::up)
            return;
        bool const gone = self->server_.life() != c->server_life && self->world_.partition(self->process_, self->server_) <= self->world_.now;
        bool const silent = !self->in_flight_.empty() && self->world_.now - self->in_flight_.front().sent > patience;
        if (!gone && !silent)
            return self->watch();
        self->on_process([self, c, gone] {
            if (!c->broken)
                self->break_off(gone ? "the server has gone" : "it says nothing");
        });
        if (!c->broken)
            self->watch();
    });
}

void link::break_off(std::string_view why)
{
    auto& c = *connection_;
    world_.tell("{} loses its connection to {}: {}", process_.name(), server_.name, why);
    c.broken = true;
    // What is under way arrives late, or up to some packet, or not at all.
    if (!in_flight_.empty()) {
        auto const first = in_flight_.front().packet;
        c.late_up_to = first - 1 + world_.random.below(in_flight_.size() + 1);
        constexpr clock::duration late_max = 3s;  // by milliseconds as often as by seconds
        c.late_by = world_.random.chance(0.5)   ? 0ms
                  : world_.random.chance(0.5) ? world_.random.spread(1ms, late_max)
                                              : world_.random.between(0ms, late_max);
        process_.disturbed_until(server_, std::max(c.last_arrival, world_.now) + c.late_by);
    }
    state_ = state::connecting;
    trouble_ = false;
    auto const sent = std::exchange(in_flight_, {});
    auto const self = shared_from_this();
    world_.after(world_.random.between(1ms, 10ms), [self] {
        self->on_process([self] {
            if (self->state_ == state::connecting)
                self->connect();
        });
    });
    process_.contact_changed(server_);
    events_.connected(identity_);
    for (auto& f : sent)
        f.operation->complete({.error = errc::connection_lost});
    if (events_.changed)
        events_.changed({});
}

}  // namespace redlock::sim
