#include "sim/link.hpp"

#include "redis/encoder.hpp"
#include "sim/commands.hpp"
#include "sim/process.hpp"
#include "sim/world.hpp"
#include "support/resp_commands.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace redlock::sim {

namespace {

// Behind which commands a batch may be torn: those of an operation arrive together.
std::vector<std::size_t> ends(redis::batch const& b)
{
    std::vector<std::size_t> all;
    for (auto const& e : b.entries)
        all.push_back(e.answer + redis::commands_for(e.operation->command()));
    if (all.empty())
        all.push_back(b.request.get_commands());
    return all;
}

}  // namespace

void link::start(std::shared_ptr<detail::runtime> const& by, listener& l)
{
    strand_.emplace(by->strand());
    listener_ = &l;
}

void link::close()
{
    listener_ = nullptr;
    if (auto const c = std::exchange(connection_, {}))
        c->broken = true;
    strand_.reset();
}

// Something reaches the process: it is there when the process next runs.
void link::on_process(std::function<void()> what)
{
    if (!listener_)
        return;
    asio::post(*strand_, [self = shared_from_this(), what = std::move(what)] {
        if (self->listener_)
            what();
    });
    process_.run();
}

// When a message that leaves now arrives, if not before @p earliest.
clock::time_point link::arrival(clock::time_point earliest)
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

clock::time_point link::reply_arrival(clock::time_point earliest)
{
    auto const at = arrival(earliest);
    auto const& w = world_.conditions;
    return world_.faults_on() && world_.random.chance(w.reply_tail_chance) ? at + world_.random.spread(w.delay_max, w.reply_tail_max) : at;
}

// Connecting: the kernel of a server that stands still takes connections, too.

void link::open(std::shared_ptr<redis::batch> greeting)
{
    listener_->connecting();
    auto const self = shared_from_this();
    auto const give_up = world_.now + process_.settings().connect_timeout;
    auto const back = arrival({}) + world_.random.between(world_.conditions.delay_min, world_.conditions.delay_max);
    world_.at(std::min(back, give_up), [self, greeting, in_time = back < give_up] {
        self->on_process([self, greeting, success = in_time && self->server_.alive()] {
            if (success && self->server_.alive())
                self->connected(greeting);
            else
                self->failed("no connection");
        });
    });
}

void link::failed(std::string_view why)
{
    listener_->ended({.error = errc::node_unreachable, .text = std::string(why)});
}

void link::connected(std::shared_ptr<redis::batch> greeting)
{
    auto const c = connection_ = std::make_shared<connection>();
    c->server_life = server_.life();
    c->pushes_first = world_.random.chance(0.5);
    c->tell = [weak = weak_from_this(), known = std::weak_ptr(c)](std::string const& key) {
        auto const self = weak.lock();
        if (auto const alive = known.lock(); self && alive)
            self->tell(alive, key);
    };
    server_.admit(c);
    world_.tell("{} connects to {}: connection {}", process_.name(), server_.name, c->id);
    transmit(c, std::make_shared<packet>(packet{++c->last_packet, greeting, test::take_commands(greeting->request.payload()), {}, world_.now}));
    look_whether_it_is_there();
}

void link::keep()
{
    world_.tell("{} and {} are connected", process_.name(), server_.name);
    process_.contact_changed(server_);
}

void link::cut()
{
    world_.after(0ms, [self = shared_from_this(), c = connection_] {
        self->on_process([self, c] {
            if (c && !c->broken)
                self->break_off("it is given up");
        });
    });
}

// There and back

void link::send(std::shared_ptr<redis::batch> const& b)
{
    for (auto const& e : b->entries)
        process_.checks_sending(*e.operation, server_);
    auto commands = test::take_commands(b->request.payload());
    std::size_t begin = 0;
    auto const all_ends = ends(*b);
    for (std::size_t i = 0; i < all_ends.size(); ++i) {
        auto const end = all_ends[i];
        auto value = b->entries.empty() ? std::string() : std::string(b->entries[i].operation->command().value);
        auto const at = [&](std::size_t n) { return std::make_move_iterator(commands.begin() + static_cast<std::ptrdiff_t>(n)); };
        transmit(connection_, std::make_shared<packet>(packet{++connection_->last_packet, b, {at(begin), at(end)}, std::move(value), world_.now}));
        begin = end;
    }
}

void link::transmit(connection_ptr const& c, packet_ptr p)
{
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

void link::deliver(connection_ptr const& c, packet_ptr const& p)
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
    server_.receive([self = shared_from_this(), c, p] {
        if (c->ended)
            return;
        std::vector<redis::reply> replies;
        for (auto const& one : p->commands)
            replies.push_back(carry_out(self->server_, c, one, p->sent));
        if (c->broken)
            return;
        c->last_reply = self->reply_arrival(c->last_reply);
        self->world_.at(c->last_reply, [self, c, p, replies = std::move(replies)] {
            self->on_process([self, c, p, replies] { self->answered(c, p, replies); });
        });
    });
}

// What has been read is handed out a little later.
void link::answered(connection_ptr const& c, packet_ptr const& p, std::vector<redis::reply> replies)
{
    if (c->broken || c->unanswered.empty() || c->unanswered.front() != p)
        return;
    c->unanswered.pop_front();
    for (auto& r : replies) {
        if (r.text.starts_with("NOSCRIPT"))
            process_.may_send_again(p->value, server_);
        p->batch->put(std::move(r));
    }
    if (!p->batch->has(p->batch->request.get_commands() - 1))
        return;
    auto const hand_out = [self = shared_from_this(), b = p->batch] { self->listener_->answered(b); };
    if (c->pushes_first)
        on_process([self = shared_from_this(), hand_out] { self->on_process(hand_out); });
    else
        on_process(hand_out);
}

// A push travels with the replies, and is lost with the connection.
void link::tell(connection_ptr const& c, std::string const& key)
{
    if (c->broken)
        return;
    world_.tell("{} tells {} of {}", server_.name, process_.name(), key);
    c->last_reply = reply_arrival(c->last_reply);
    world_.at(c->last_reply, [self = shared_from_this(), c, key] {
        self->on_process([self, c, key] {
            if (c->broken)
                return;
            self->listener_->change_read(key);
            self->on_process([self, key] { self->listener_->changed(key); });
        });
    });
}

// The end

// Notices that the other side has gone.
void link::look_whether_it_is_there()
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

void link::break_off(std::string_view why)
{
    auto const c = std::exchange(connection_, {});
    world_.tell("{} loses its connection to {}: {}", process_.name(), server_.name, why);
    c->broken = true;
    // What is under way arrives late, or up to some packet, or not at all.
    if (!c->unanswered.empty()) {
        c->late_up_to = c->unanswered.front()->number - 1 + world_.random.below(c->unanswered.size() + 1);
        constexpr clock::duration late_max = 3s;  // by milliseconds as often as by seconds
        c->late_by = world_.random.chance(0.5)   ? 0ms
                   : world_.random.chance(0.5) ? world_.random.spread(1ms, late_max)
                                               : world_.random.between(0ms, late_max);
        process_.disturbed_until(server_, std::max(c->last_arrival, world_.now) + c->late_by);
    }
    process_.contact_changed(server_);
    bool const told_first = world_.random.chance(0.3);
    if (told_first)
        failed(why);
    std::shared_ptr<redis::batch> last;
    for (auto const& p : std::exchange(c->unanswered, {})) {
        if (auto const b = std::exchange(last, p->batch); b != p->batch && listener_)
            listener_->answered(p->batch);
    }
    if (listener_ && !told_first)
        failed(why);
}

}  // namespace redlock::sim
