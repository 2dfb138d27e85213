#include "core/key.hpp"
#include "sim/process.hpp"
#include "sim/server.hpp"
#include "sim/stores.hpp"
#include "sim/network.hpp"
#include "sim/world.hpp"
#include "stores/etcd/transport.hpp"
#include "stores/etcd/etcd_node.hpp"
#include "stores/etcd/json.hpp"
#include "stores/etcd/layout.hpp"
#include "stores/etcd/refusal.hpp"
#include "support/etcd_gateway.hpp"

#include <redlock/error.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::sim {

namespace {

namespace json = stores::etcd::json;
using stores::etcd::answer;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

bool is_lock(std::string const& key) { return core::mark_in(key).empty(); }

/** An etcd cluster whose leader changes.

    A process that still talks to the old leader gets no answer until that leader hears of the election. Then the old
    leader may still end leases by its own clock.
*/
class cluster final : public server, public test::etcd_gateway {
public:
    cluster(sim::world& w, std::size_t index, double rate) : server(w, index, rate), etcd_gateway(name) { expire(); }

    /// @return the answer, or an error while the cluster refuses
    stores::etcd::json::object carry_out(std::string_view path, std::string const& body)
    {
        return refuses() ? error("etcdserver: too many requests", 8) : etcd_gateway::carry_out(path, body);
    }

    /// Until when the process talks to the old leader, in true time.
    clock::time_point behind_until(std::size_t process) const
    {
        auto const known = behind_until_.find(process);
        return known == behind_until_.end() ? world().now : std::max(known->second, world().now);
    }

    bool has_sessions() const override { return true; }

    void crash(bool) override
    {
        forget_watches();
        behind_until_.clear();
        server::crash(false);
    }

    void start() override
    {
        if (!alive())
            elect();
        server::start();
    }

    void evict() override
    {
        auto const victim = any_key();
        if (victim == keys.entries.end())
            return;
        world().tell("{}: somebody deletes {}", name, victim->first);
        erase(std::string(victim->first));
    }

    void jump(clock::duration) override {}  // leases do not follow the time of day

    void change_leader(clock::duration d) override
    {
        if (!alive())
            return;
        elect();
        world().after(d, [this, stopped = time()] {
            for (auto const& id : leases_that_a_stopped_leader_ends(stopped)) {
                if (alive() && !paused())
                    end(id);
            }
        });
        for (auto const& p : world().processes) {
            if (p && world().random.chance(0.5)) {
                world().tell("{}: new leader; {} hears of it in {} ms", name, p->name(), d / 1ms);
                behind_until_[p->index()] = world().now + d;
            }
        }
    }

    std::shared_ptr<node> make_node(process&, manager_options const&,
                                    std::shared_ptr<stores::redis::group> const&) override;

private:
    clock::time_point time() const override { return clock_now(); }

    void note(std::string_view lease, std::string_view what) const override
    {
        world().tell("{}: lease {} {}", name, lease, what);
    }

    // Copies the locks to `keys`, which the checks read, and writes the changes to the history.
    void changed(values const& before) override
    {
        keys.entries.clear();
        for (auto const& [key, v] : all()) {
            if (!is_lock(key))
                continue;
            // The key has no ttl: it is valid until it is deleted.
            keys.entries[key] = {stores::etcd::to_content(v.bytes).value, clock::time_point::max()};
            if (!before.contains(key))
                world().note_taking(key);
            if (auto const was = before.find(key); was == before.end() || was->second != v)
                world().tell("{} sets {} {}", name, key, keys.entries[key].value.substr(0, 8));
        }
        for (auto const& [key, v] : before) {
            if (!all().contains(key) && is_lock(key))
                world().tell("{} deletes {} {}", name, key, stores::etcd::to_content(v.bytes).value.substr(0, 8));
        }
    }

    // Ends expired leases from time to time.
    void expire()
    {
        world().after(world().random.between(10ms, 500ms), [this] {
            for (auto const& id : leases_that_are_over()) {
                if (alive() && !paused())
                    end(id);
            }
            expire();
        });
    }

    std::map<std::size_t, clock::time_point> behind_until_;  ///< by the number of the process
};

/// The connection of an etcd node to its cluster, in place of HTTP.
class cluster_transport final : public stores::etcd::transport,
                                network::owner,
                                public std::enable_shared_from_this<cluster_transport> {
public:
    cluster_transport(world& w, process& p, cluster& c, asio::any_io_executor on)
        : world_(w),
          process_(p),
          cluster_(c),
          executor_(std::move(on)),
          network_(std::make_shared<network>(w, p, c)),
          ready_(executor_)
    {
        network_->start(executor_, *this);
    }

    ~cluster_transport() override { close(); }

    asio::awaitable<node_reply> open() override
    {
        state_ = state::opening;
        network_->open();
        while (state_ == state::opening) {
            ready_->expires_at(clock::time_point::max());
            co_await ready_->async_wait(as_result);
        }
        co_return state_ == state::open ? node_reply()
                                        : node_reply{.untouched = true, .error = errc::node_unreachable, .text = why_};
    }

    // A process that talks to the old leader waits for the answer.
    asio::awaitable<stores::etcd::answer> ask(std::string_view path, std::string body, std::string_view,
                                              std::chrono::milliseconds timeout) override
    {
        if (state_ == state::open) {
            auto const weak = weak_from_this();
            auto carry_out = [weak, &c = cluster_, path = std::string(path),
                              body = std::move(body)](auto const&) -> std::function<void()> {
                return [weak, said = json::serialize(c.carry_out(path, body))] {
                    if (auto const self = weak.lock())
                        self->told(said);
                };
            };
            network_->send({.carry_out = std::move(carry_out),
                            .lost = [] {},
                            .waits = [from = process_.index(), &c = cluster_] { return c.behind_until(from); }});
        }
        return next(clock::now() + timeout, false);
    }

    asio::awaitable<stores::etcd::answer> begin_stream(std::string_view, std::string first, std::string_view,
                                                       std::chrono::milliseconds timeout) override
    {
        send(std::move(first));
        return next(clock::now() + timeout, true);
    }

    asio::awaitable<void> write(std::string message) override
    {
        send(std::move(message));
        co_return;
    }

    asio::awaitable<stores::etcd::answer> read() override { return next(clock::time_point::max(), true); }

    void close() override
    {
        state_ = state::closed;
        network_->leave();
        ready_->cancel();
    }

private:
    enum class state { closed, opening, open };

    void opened(std::shared_ptr<client> const& there) override
    {
        state_ = there ? state::open : state::closed;
        there_ = there;
        if (there)
            process_.contact_changed(cluster_);
        else
            why_ = "no connection";
        ready_->cancel();
    }

    void told(std::string const& message) override
    {
        heard_.push_back(message);
        ready_->cancel();
    }

    void broken(std::string_view why, std::vector<std::function<void()>>) override
    {
        state_ = state::closed;
        why_ = why;
        ready_->cancel();
    }

    // Waits for the next message.
    asio::awaitable<stores::etcd::answer> next(clock::time_point limit, bool untouched)
    {
        while (state_ == state::open && heard_.empty() && clock::now() < limit) {
            ready_->expires_at(limit);
            co_await ready_->async_wait(as_result);
        }
        if (!heard_.empty()) {
            auto const said = json::parse(heard_.front()).as_object();
            heard_.pop_front();
            co_return said.contains("error") ? stores::etcd::refusal(said) : stores::etcd::answer{said, {}};
        }
        if (state_ == state::open)
            why_ = "it has stopped answering";
        close();
        co_return stores::etcd::answer{{},
                                       {.untouched = untouched,
                                        .error = untouched ? errc::node_unreachable : errc::connection_lost,
                                        .text = why_}};
    }

    void send(std::string message)
    {
        if (state_ != state::open)
            return;
        // A process that talks to the old leader is notified only when that leader has caught up.
        auto tell = [&w = world_, &c = cluster_, to = process_.index(), there = there_](std::string const& what) {
            w.at(c.behind_until(to), [there, what] {
                if (auto const alive = there.lock())
                    alive->tell(what);
            });
        };
        auto carry_out = [&c = cluster_, there = there_, message = std::move(message),
                          tell](auto const&) -> std::function<void()> {
            c.hear(there, message, tell);
            return [] {};
        };
        network_->send({.carry_out = std::move(carry_out), .lost = [] {}});
    }

    world& world_;
    process& process_;
    cluster& cluster_;
    asio::any_io_executor const executor_;
    std::shared_ptr<network> const network_;
    std::optional<stores::etcd::timer> ready_;
    state state_ = state::closed;
    std::weak_ptr<client> there_;
    std::deque<std::string> heard_;
    std::string why_ = "it is closed";
};

std::shared_ptr<node> cluster::make_node(process& p, manager_options const& settings,
                                         std::shared_ptr<stores::redis::group> const&)
{
    stores::etcd::address where{
        .name = "cluster://" + name,
        .members = {{.host = name}},
        .user = {},
        .password = {},
        .options = {.session = std::chrono::seconds(2 + world().random.below(4)), .timeout = settings.node_timeout}};
    auto make_transport = [this, &p](asio::any_io_executor on, auto const&) {
        return std::make_shared<cluster_transport>(world(), p, *this, std::move(on));
    };
    return stores::etcd::make_etcd_node(
        std::move(where), settings, {.claim = [](auto&, auto&) { return std::string(); }},
        {.make_transport = std::move(make_transport), .seed = static_cast<std::uint32_t>(world().random.roll())});
}

}  // namespace

std::unique_ptr<server> make_cluster(world& w, std::size_t index, double rate)
{
    return std::make_unique<cluster>(w, index, rate);
}

}  // namespace redlock::sim
