#pragma once

#include "stores/kit/deletions.hpp"
#include "stores/kit/driver.hpp"
#include "stores/kit/expiries.hpp"
#include "stores/kit/history.hpp"
#include "stores/kit/members.hpp"
#include "stores/kit/pending_queue.hpp"
#include "stores/kit/timer.hpp"

#include <redlock/clock.hpp>
#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>
#include <redlock/store.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace redlock::stores::kit {

/// The parameters of a node with leases.
struct lease_settings {
    std::string name;          ///< for logs and messages: without user and password
    std::string_view kind;     ///< such as "etcd"
    std::string_view servers;  ///< the word for all servers together in messages, such as "cluster"
    std::size_t members = 1;   ///< number of servers
    std::size_t keys_max = 0;  ///< most keys of one command
    std::chrono::milliseconds timeout{};
    store_context context{};
    std::function<void(log_level, std::string_view)> log{};  ///< see @ref logger
    /// Seed of the jitter.
    std::minstd_rand::result_type seed = std::random_device()();
};

/// A log function for the node with this name. It is never empty.
std::function<void(log_level, std::string_view)> logger(manager_options const&, std::string name);

/** A node whose locks end with its session or lease.

    It has one session, and uses one server at a time. If a connection ends, it connects to the next server. It deletes
    expired keys itself, because its lease lives longer.
*/
class lease_node final : public node, driver::owner, public std::enable_shared_from_this<lease_node> {
public:
    lease_node(lease_settings, std::function<std::unique_ptr<driver>(driver::owner&)> const& make_driver);

    std::string const& name() const noexcept override { return settings_.name; }
    bool ready() const noexcept override { return ready_.load(std::memory_order_relaxed); }
    bool notifies() const noexcept override { return ready(); }
    node_limits limits() const override { return {.timeout = settings_.timeout, .ends_with_session = true}; }
    bool can(node_command const&) const noexcept override;
    bool may_still_execute(std::uint32_t connection) const override;
    void start(asio::any_io_executor, node_events) override;
    void submit(operation) override;
    void close() override;
    void abandon() override;

private:
    struct timers {
        timer look, pause;
    };

    std::shared_ptr<void> keep_alive() override { return shared_from_this(); }
    std::shared_ptr<kit::expiries> const& expiries() const noexcept override { return expiries_; }
    std::uint32_t next_connection() noexcept override { return members_.next_connection(); }
    std::uint32_t connection() const noexcept override { return members_.connection(); }
    node_reply check_server(std::string const& id, std::int64_t change) override;
    void heard(std::int64_t change) override { history_.heard(change); }
    void up(std::string_view words) override;
    void lost(std::string_view what) override;
    void flush_soon() override;
    void note(node_command const&, node_reply&, clock::time_point sent,
              clock::time_point kept = clock::time_point::max()) override;
    void tell(std::string const& name) override;

    static asio::awaitable<void> serve(std::shared_ptr<lease_node>);
    static asio::awaitable<void> run_every_second(std::shared_ptr<lease_node>);
    void down(node_reply why);
    void flush();
    void drop_references();

    lease_settings const settings_;
    kit::members members_;
    history history_;
    std::shared_ptr<kit::expiries> const expiries_ = std::make_shared<kit::expiries>();
    std::shared_ptr<deletions> deletions_;
    asio::any_io_executor executor_;
    node_events events_;
    std::optional<timers> timers_;
    std::atomic<bool> ready_{false};
    bool begun_ = false, closed_ = false, flush_due_ = false;
    bool refuse_all_ = false;  ///< the next refusal includes operations that earlier ones kept
    node_reply trouble_;       ///< why no connection could be made; no error: not known yet
    std::unique_ptr<driver> const driver_;
};

}  // namespace redlock::stores::kit
