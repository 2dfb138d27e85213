#pragma once

#include "stores/kit/deletions.hpp"
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

/// The code for one kind of store: it connects to a server, and encodes commands. All functions run on the executor.
class driver {
public:
    virtual ~driver() = default;

    /// Connects to a server, and returns when the connection has ended. @return why it has ended
    virtual asio::awaitable<node_reply> visit(std::size_t member) = 0;

    virtual void add(operation) = 0;

    /// Sends waiting operations. There is a connection.
    virtual void send() = 0;

    /// See @ref pending_queue::refuse.
    virtual void refuse(node_reply const& trouble, bool all, finished& over) = 0;

    /// Called once a second while there is a connection.
    virtual void tidy() {}

    /// The connection has ended. Completes the operations that were sent and are not answered.
    virtual void disconnected(node_reply const& why) = 0;

    /// Ends the connection at once, and moves all operations to @p over. If @p is_idle and no operation is under way,
    /// the driver also ends the session.
    virtual void close(bool is_idle, finished& over) = 0;

    /// Like @ref close, but the execution context is being destroyed: only drops what refers to it.
    virtual void abandon() = 0;
};

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
class lease_node final : public node, public std::enable_shared_from_this<lease_node> {
public:
    lease_node(lease_settings, std::function<std::unique_ptr<driver>(lease_node&)> const& make_driver);

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

    // The functions below are for the driver.

    std::shared_ptr<kit::expiries> const& expiries() const noexcept { return expiries_; }
    std::uint32_t next_connection() noexcept { return members_.next_connection(); }
    std::uint32_t connection() const noexcept { return members_.connection(); }

    /// The driver has connected to the servers with this @p id, and the number of their latest change.
    /// @return with an error: why the servers must not vote
    node_reply check_server(std::string const& id, std::int64_t change);
    void heard(std::int64_t change) { history_.heard(change); }

    /// The connection is up, and the servers may vote. @param words text for the log
    void up(std::string_view words);

    /// The session has ended, and all locks with it. @param what the word for the session, such as "lease"
    void lost(std::string_view what);

    void flush_soon();

    /// Updates the expiries with the reply to a command: see @ref expiries::note.
    void note(node_command const&, node_reply&, clock::time_point sent,
              clock::time_point kept = clock::time_point::max());

    /// Notifies the manager that a key has changed. Empty: changes may have been missed.
    void tell(std::string const& name);

private:
    struct timers {
        timer look, pause;
    };

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
