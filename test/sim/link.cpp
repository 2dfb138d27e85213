#include "sim/link.hpp"

#include "sim/commands.hpp"
#include "sim/process.hpp"
#include "sim/world.hpp"
#include "stores/redis/encoder.hpp"
#include "support/resp_commands.hpp"
#include "support/resp_writer.hpp"

#include <stdexcept>
#include <utility>

namespace redlock::sim {

namespace {

struct part {
    std::size_t end;
    std::string value;  ///< of the operation
};

// Where a batch may be torn: between operations, and between the reading of what is to be tracked and the script.
std::vector<part> parts_of(redis::batch const& b)
{
    std::vector<part> all;
    for (auto const& e : b.entries) {
        auto const& c = e.operation->command();
        if (e.tracked_from != 0 && e.tracked_from < e.answer)
            all.push_back({e.answer, std::string(c.value)});
        all.push_back({e.answer + redis::commands_for(c), std::string(c.value)});
    }
    if (all.empty())
        all.push_back({b.request.commands(), {}});
    return all;
}

}  // namespace

void link::start(std::shared_ptr<detail::runtime> const& by, listener& l)
{
    listener_ = &l;
    wire_->start(by->strand(), *this);
}

void link::close()
{
    listener_ = nullptr;
    wire_->close();
}

void link::open(std::shared_ptr<redis::batch> greeting)
{
    listener_->connecting();
    greeting_ = std::move(greeting);
    wire_->open();
}

void link::opened(std::shared_ptr<client> const& there)
{
    auto const greeting = std::exchange(greeting_, {});
    if (!there)
        return failed("no connection");
    inbox_ = redis::inbox();
    unread_.clear();
    inbox_.expect(greeting);
    transmit(greeting, test::take_commands(greeting->request.bytes()), {}, std::make_shared<bool>(false));
}

void link::keep()
{
    world_.tell("{} and {} are connected", process_.name(), server_.name);
    process_.contact_changed(server_);
}

void link::send(std::shared_ptr<redis::batch> const& b)
{
    for (auto const& e : b->entries)
        process_.checks_sending(e.operation->command(), server_);
    inbox_.expect(b);
    auto commands = test::take_commands(b->request.bytes());
    auto const lost = std::make_shared<bool>(false);
    std::size_t begin = 0;
    for (auto& p : parts_of(*b)) {
        auto const at = [&](std::size_t n) { return std::make_move_iterator(commands.begin() + static_cast<std::ptrdiff_t>(n)); };
        transmit(b, {at(begin), at(p.end)}, std::move(p.value), lost);
        begin = p.end;
    }
}

// @p value: of the operation. @p lost: whether the batch, of which this is a part, has been told of as lost.
void link::transmit(std::shared_ptr<redis::batch> const& b, std::vector<command> commands, std::string value, std::shared_ptr<bool> const& lost)
{
    auto carry_out = [self = shared_from_this(), commands = std::move(commands), value, sent = world_.now](auto const& from) {
        std::string bytes;
        bool refused = false;
        for (auto const& one : commands) {
            auto const r = sim::carry_out(self->server_, from, one, sent);
            test::append_reply(bytes, r);
            refused = refused || r.text.starts_with("NOSCRIPT");
        }
        return [self, value, refused, bytes = std::move(bytes)] {
            if (refused)
                self->process_.may_send_again(value, self->server_);
            self->received(bytes);
        };
    };
    wire_->send({.carry_out = std::move(carry_out), .lost = [self = shared_from_this(), b, lost] {
                     if (!std::exchange(*lost, true) && self->listener_)
                         self->listener_->answered(b);
                 }});
}

// The two pieces come at once, so that the worlds do not depend on them.
void link::received(std::string_view bytes)
{
    auto const first = bytes.substr(0, world_.splits.below(bytes.size() + 1));
    for (auto const piece : {first, bytes.substr(first.size())}) {
        unread_ += piece;
        std::string_view rest = unread_;
        for (auto e = inbox_.next(rest); e != redis::inbox::event::none; e = inbox_.next(rest))
            handle(e);
        unread_.erase(0, unread_.size() - rest.size());
    }
}

void link::handle(redis::inbox::event e)
{
    using event = redis::inbox::event;
    if (e == event::answered)
        return answered(inbox_.take_answered());
    if (e != event::changed)
        throw std::logic_error("a reply of " + server_.name + " is not understood");
    std::string const key(inbox_.key());
    listener_->change_read(key);
    wire_->on_process([self = shared_from_this(), key] { self->listener_->changed(key); });
}

// What has been read is handed out a little later.
void link::answered(std::shared_ptr<redis::batch> const& b)
{
    auto const hand_out = [self = shared_from_this(), b] { self->listener_->answered(b); };
    if (wire_->pushes_first())
        wire_->on_process([self = shared_from_this(), hand_out] { self->wire_->on_process(hand_out); });
    else
        wire_->on_process(hand_out);
}

void link::told(std::string const& key)
{
    received(test::invalidation_of(key));
}

void link::failed(std::string_view why)
{
    listener_->ended({.error = errc::node_unreachable, .text = std::string(why)});
}

void link::broken(std::string_view why, std::vector<std::function<void()>> lost)
{
    bool const told_first = world_.random.chance(0.3);
    if (told_first)
        failed(why);
    for (auto const& tell : lost)
        tell();
    if (listener_ && !told_first)
        failed(why);
}

}  // namespace redlock::sim
