#include "sim/commands.hpp"
#include "net/url.hpp"
#include "sim/process.hpp"
#include "sim/server.hpp"
#include "sim/network.hpp"
#include "sim/world.hpp"
#include "stores/redis/encoder.hpp"
#include "stores/redis/inbox.hpp"
#include "stores/redis/transport.hpp"
#include "stores/redis/redis_node.hpp"
#include "support/resp_commands.hpp"
#include "support/resp_writer.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::sim {

namespace {

struct part {
    std::size_t end;
    std::string value;  ///< the operation's value
};

// A batch may be split between operations, before the last command, and between a script and the commands behind it
// that track its key.
std::vector<part> parts_of(stores::redis::batch const& b)
{
    std::vector<part> all;
    for (auto const& e : b.entries) {
        auto const& c = e.operation->command();
        if (e.tracked_from != 0 && e.tracked_from < e.answer)
            all.push_back({e.answer, std::string(c.value)});
        all.push_back({e.answer + stores::redis::commands_for(c), std::string(c.value)});
        if (e.tracked_from > e.answer)
            all.push_back({e.tracked_from + 1, std::string(c.value)});
    }
    if (all.empty() || all.back().end < b.request.commands())  // at the end the word of the record is read
        all.push_back({b.request.commands(), {}});
    return all;
}

class transport final : public stores::redis::transport,
                        network::owner,
                        public std::enable_shared_from_this<transport> {
public:
    transport(world& w, process& p, server& s)
        : world_(w), process_(p), server_(s), network_(std::make_shared<network>(w, p, s))
    {
    }

    void start(std::shared_ptr<runtime::runtime> const& by, stores::redis::transport::owner& o) override
    {
        owner_ = &o;
        network_->start(by->strand(), *this);
    }

    void open(std::shared_ptr<stores::redis::batch> greeting) override
    {
        owner_->connecting();
        greeting_ = std::move(greeting);
        network_->open();
    }

    void server_accepted() override
    {
        world_.tell("{} and {} are connected", process_.name(), server_.name);
        process_.contact_changed(server_);
    }

    void send(std::shared_ptr<stores::redis::batch> const& b) override
    {
        for (auto const& e : b->entries)
            process_.checks_sending(e.operation->command(), server_);
        inbox_.expect(b);
        auto commands = test::take_commands(b->request.bytes());
        auto const lost = std::make_shared<bool>(false);
        std::size_t begin = 0;
        for (auto& p : parts_of(*b)) {
            auto const at = [&](std::size_t n) {
                return std::make_move_iterator(commands.begin() + static_cast<std::ptrdiff_t>(n));
            };
            transmit(b, {at(begin), at(p.end)}, std::move(p.value), lost);
            begin = p.end;
        }
    }

    void cut() override { network_->cut(); }

    void close() override
    {
        owner_ = nullptr;
        network_->close();
    }

    void abandon() override { close(); }

private:
    void opened(std::shared_ptr<client> const& there) override
    {
        auto const greeting = std::exchange(greeting_, {});
        if (!there)
            return failed("no connection");
        inbox_ = stores::redis::inbox();
        unread_.clear();
        inbox_.expect(greeting);
        transmit(greeting, test::take_commands(greeting->request.bytes()), {}, std::make_shared<bool>(false));
    }

    void told(std::string const& key) override { received(test::invalidation_of(key)); }

    void broken(std::string_view why, std::vector<std::function<void()>> lost) override
    {
        bool const told_first = world_.random.chance(0.3);
        if (told_first)
            failed(why);
        for (auto const& tell : lost)
            tell();
        if (owner_ && !told_first)
            failed(why);
    }

    // @p value: of the operation. @p lost: whether the batch, of which this is a part, was reported as lost.
    void transmit(std::shared_ptr<stores::redis::batch> const& b, std::vector<command> commands, std::string value,
                  std::shared_ptr<bool> const& lost)
    {
        auto carry_out = [self = shared_from_this(), commands = std::move(commands), value,
                          sent = world_.now](auto const& from) {
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
        network_->send({.carry_out = std::move(carry_out), .lost = [self = shared_from_this(), b, lost] {
                            if (!std::exchange(*lost, true) && self->owner_)
                                self->owner_->answered(b);
                        }});
    }

    // Both pieces arrive at the same time, so the split does not change the world.
    void received(std::string_view bytes)
    {
        auto const first = bytes.substr(0, world_.splits.below(bytes.size() + 1));
        for (auto const piece : {first, bytes.substr(first.size())}) {
            unread_ += piece;
            std::string_view rest = unread_;
            for (auto e = inbox_.next(rest); e != stores::redis::inbox::event::none; e = inbox_.next(rest))
                handle(e);
            unread_.erase(0, unread_.size() - rest.size());
        }
    }

    void handle(stores::redis::inbox::event e)
    {
        using event = stores::redis::inbox::event;
        if (e == event::answered)
            return answered(inbox_.take_answered());
        if (e != event::changed)
            throw std::logic_error("a reply of " + server_.name + " is not understood");
        std::string const key(inbox_.key());
        owner_->push_arrived(key);
        network_->on_process([self = shared_from_this(), key] { self->owner_->changed(key); });
    }

    // Replies that have been read are handed out a little later.
    void answered(std::shared_ptr<stores::redis::batch> const& b)
    {
        auto const hand_out = [self = shared_from_this(), b] { self->owner_->answered(b); };
        if (network_->pushes_first())
            network_->on_process([self = shared_from_this(), hand_out] { self->network_->on_process(hand_out); });
        else
            network_->on_process(hand_out);
    }

    void failed(std::string_view why) { owner_->ended({.error = errc::node_unreachable, .text = std::string(why)}); }

    world& world_;
    process& process_;
    server& server_;
    std::shared_ptr<network> const network_;
    std::shared_ptr<stores::redis::batch> greeting_;
    stores::redis::inbox inbox_;
    std::string unread_;
    stores::redis::transport::owner* owner_ = nullptr;  ///< null after it was closed
};

}  // namespace

std::shared_ptr<node> server::make_node(process& p, manager_options const& settings,
                                        std::shared_ptr<stores::redis::group> const& group)
{
    return stores::redis::make_redis_node(net::parse_url("redis://" + name), settings, group,
                                          std::make_shared<transport>(world_, p, *this));
}

}  // namespace redlock::sim
