#pragma once

#include "etcd/channel.hpp"
#include "etcd/json.hpp"
#include "sim/server.hpp"
#include "sim/wire.hpp"

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

/** An etcd cluster: what it does with the texts of its JSON gateway, as far as locks need it. It loses nothing, and answers for a majority.

    Its leader changes. The one before, which does not know that yet, still prolongs leases for those who talk to it, in vain; all else they
    want waits for its election to end. A new leader lets each lease begin anew.
*/
class cluster final : public server {
public:
    using told = std::function<void(std::string const&)>;

    cluster(sim::world&, std::size_t index, double rate);

    /// @return the answer, or what it says instead
    etcd_v3::json::object carry_out(std::size_t from, std::string_view path, std::string const& body);

    /// A message of a stream. @p tell: how to reach who sent it.
    void hear(std::weak_ptr<client> const& from, std::string const& message, told tell);

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
    using object = etcd_v3::json::object;

    struct value {
        std::string bytes;
        std::int64_t created = 0, changed = 0;
        std::string lease;
        friend bool operator==(value const&, value const&) = default;
    };
    using values = std::map<std::string, value>;

    struct lease {
        std::chrono::seconds ttl;
        clock::time_point expires;  ///< by its clock
    };

    struct watch {
        std::weak_ptr<client> from;
        std::int64_t id;
        std::string key;
        told tell;
    };

    object header() const;
    object refusal(std::string_view why, int code) const;
    object grant(object const& asked);
    object keep_alive(std::size_t from, object const& asked);
    object revoke(object const& asked);
    object transaction(object const& asked);
    bool judge(object const& condition) const;
    object carry_out(object const& transaction, values& after);
    object step(object const& what, values& after);
    object range(object const& asked, values const& in) const;
    void put(object const& asked, values& after);
    void commit(values after);
    void tell_of(std::string const& key, std::int64_t revision, watch const&) const;
    void end(std::string const& lease);
    void let_leases_begin_anew();
    void expire();

    values values_;
    std::int64_t revision_ = 1;
    std::int64_t term_ = 2;
    std::map<std::string, lease> leases_;
    std::int64_t last_lease_ = 0;
    std::vector<watch> watches_;
    std::vector<std::pair<std::string, std::int64_t>> deleted_;       ///< and at which revision
    std::map<std::size_t, clock::time_point> behind_until_;           ///< by the number of the process
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
