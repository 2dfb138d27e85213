#include "sim/wire.hpp"

#include "sim/process.hpp"
#include "sim/world.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace redlock::sim {

void wire::start(asio::any_io_executor on, owner& o)
{
    executor_ = std::move(on);
    owner_ = &o;
}

void wire::close()
{
    owner_ = nullptr;
    if (auto const c = std::exchange(connection_, {}))
        c->broken = true;
    executor_ = {};
}

std::vector<std::function<void()>> wire::leave()
{
    auto lost = connection_ ? part("it is closed") : std::vector<std::function<void()>>();
    close();
    return lost;
}

// Something reaches the process: it is there when the process next runs.
void wire::on_process(std::function<void()> what)
{
    if (!owner_)
        return;
    asio::post(executor_, [self = shared_from_this(), what = std::move(what)] {
        if (self->owner_)
            what();
    });
    process_.run();
}

// When a message that leaves now arrives, if not before @p earliest.
clock::time_point wire::arrival(clock::time_point earliest)
{
    auto const& w = world_.conditions;
    auto delay = world_.random.between(w.delay_min, w.delay_max);
    if (world_.faults_on() && world_.random.chance(w.tail_chance))
        delay = world_.random.spread(w.delay_max, w.tail_max);
    auto const healed = world_.partition(process_, server_);
    if (healed > world_.now)  // TCP sends it again, with growing pauses
        return std::max(earliest, healed + world_.random.between(0ms, std::max<clock::duration>(healed - world_.now, 1ms)));
    return std::max(earliest, world_.now + delay);
}

clock::time_point wire::reply_arrival(clock::time_point earliest)
{
    auto const at = arrival(earliest);
    auto const& w = world_.conditions;
    return world_.faults_on() && world_.random.chance(w.reply_tail_chance) ? at + world_.random.spread(w.delay_max, w.reply_tail_max) : at;
}

// Connecting: the kernel of a server that stands still takes connections, too.

void wire::open()
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

void wire::connected()
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

void wire::cut()
{
    world_.after(0ms, [self = shared_from_this(), c = connection_] {
        self->on_process([self, c] {
            if (c && !c->broken)
                self->break_off("it is given up");
        });
    });
}

// There and back

void wire::send(packet what)
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

void wire::deliver(connection_ptr const& c, packet_ptr const& p)
{
    if (server_.life() != c->server_life || c->ended)
        return;
    if (c->broken) {
        if (p->number > c->late_up_to)
            return;
        auto const late = std::exchange(c->late_by, clock::duration::zero());  // those behind it are late by as much
        c->last_arrival = std::max(c->last_arrival, world_.now + late);
        if (world_.now < c->last_arrival)
            return world_.at(c->last_arrival, [self = shared_from_this(), c, p] { self->deliver(c, p); });
    }
    server_.receive([self = shared_from_this(), c, p] { self->carry_out(c, p); });
}

void wire::carry_out(connection_ptr const& c, packet_ptr const& p)
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

void wire::answered(connection_ptr const& c, packet_ptr const& p, std::function<void()> const& heard)
{
    if (c->broken || c->unanswered.empty() || c->unanswered.front() != p)
        return;
    c->unanswered.pop_front();
    heard();
}

void wire::tell(connection_ptr const& c, std::string const& what)
{
    if (c->broken)
        return;
    world_.tell("{} tells {} of {}", server_.name, process_.name(), what);
    c->last_reply = reply_arrival(c->last_reply);
    world_.at(c->last_reply, [self = shared_from_this(), c, what] {
        self->on_process([self, c, what] {
            if (!c->broken)
                self->owner_->told(what);
        });
    });
}

// The end

// Notices that the other side has gone.
void wire::look_whether_it_is_there()
{
    world_.after(world_.random.between(50ms, 200ms), [self = shared_from_this(), c = connection_] {
        if (c->broken)
            return;
        if (self->server_.life() != c->server_life && self->world_.partition(self->process_, self->server_) <= self->world_.now) {
            return self->on_process([self, c] {
                if (!c->broken)
                    self->break_off("the server has gone");
            });
        }
        self->look_whether_it_is_there();
    });
}

void wire::break_off(std::string_view why)
{
    auto lost = part(why);
    owner_->broken(why, std::move(lost));
}

// What is under way arrives late, or up to some packet, or not at all.
std::vector<std::function<void()>> wire::part(std::string_view why)
{
    auto const c = std::exchange(connection_, {});
    world_.tell("{} loses its connection to {}: {}", process_.name(), server_.name, why);
    c->broken = true;
    if (!c->unanswered.empty()) {
        c->late_up_to = c->unanswered.front()->number - 1 + world_.random.below(c->unanswered.size() + 1);
        constexpr clock::duration late_max = 3s;  // by milliseconds as often as by seconds
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

}  // namespace redlock::sim
