#pragma once

#include "sim/server.hpp"
#include "sim/wire.hpp"
#include "stores/etcd/channel.hpp"
#include "stores/etcd/json.hpp"
#include "support/etcd_gateway.hpp"

#include <chrono>
#include <cstdint>
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

/** An etcd cluster whose leader changes.

    What those want who talk to the one before, which does not know that yet, waits for its election to end. Then that one may still end
    leases by its own clock.
*/
class cluster final : public server, public test::etcd_gateway {
public:
    cluster(sim::world&, std::size_t index, double rate);

    /// @return the answer, or what it says instead
    etcd_v3::json::object carry_out(std::string_view path, std::string const& body);

    /// Until when that process talks to a leader that is none any more: in true time.
    clock::time_point behind_until(std::size_t process) const;

    bool has_sessions() const override { return true; }
    void crash(bool forget) override;
    void start() override;
    void evict() override;
    void jump(clock::duration) override {}  // leases do not follow the time of day
    void change_leader(clock::duration) override;
    std::shared_ptr<node> make_node(process&, config const&, std::shared_ptr<redis::group> const&) override;

private:
    clock::time_point time() const override { return clock_now(); }
    void note(std::string_view lease, std::string_view what) const override;
    void changed(values const& before) override;
    void expire();

    std::map<std::size_t, clock::time_point> behind_until_;  ///< by the number of the process
};

/// The way of an etcd node to its cluster, in place of HTTP.
class cluster_channel final : public etcd_v3::channel, wire::owner, public std::enable_shared_from_this<cluster_channel> {
public:
    cluster_channel(world&, process&, cluster&, asio::any_io_executor);
    ~cluster_channel() override { close(); }

    asio::awaitable<node_reply> open() override;
    asio::awaitable<etcd_v3::answer> ask(std::string_view path, std::string body, std::string_view token, std::chrono::milliseconds patience) override;
    asio::awaitable<etcd_v3::answer> stream(std::string_view path, std::string first, std::string_view token, std::chrono::milliseconds patience) override;
    asio::awaitable<void> write(std::string message) override;
    asio::awaitable<etcd_v3::answer> read() override;
    void close() override;

private:
    enum class state { closed, opening, open };

    void opened(std::shared_ptr<client> const&) override;
    void told(std::string const& message) override;
    void broken(std::string_view why, std::vector<std::function<void()>> lost) override;

    asio::awaitable<etcd_v3::answer> next(clock::time_point limit, bool untouched);
    void send(std::string message);

    world& world_;
    process& process_;
    cluster& cluster_;
    asio::any_io_executor const executor_;
    std::shared_ptr<wire> const wire_;
    std::optional<etcd_v3::timer> ready_;
    state state_ = state::closed;
    std::weak_ptr<client> there_;
    std::deque<std::string> heard_;
    std::string why_ = "it is closed";
};

}  // namespace redlock::sim
