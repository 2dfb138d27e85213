#pragma once

#include "stores/kit/deletions.hpp"
#include "stores/kit/expiries.hpp"
#include "stores/kit/history.hpp"
#include "stores/kit/members.hpp"
#include "stores/kit/pending_queue.hpp"

#include <redlock/clock.hpp>
#include <redlock/config.hpp>
#include <redlock/node.hpp>
#include <redlock/store.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>

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

using timer = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, asio::any_io_executor>;

/// What a kind of store does itself: how it talks to one of its servers, and what it sends. On the executor.
class driver {
public:
    virtual ~driver() = default;

    /// Connects to a server, until the connection ends. @return why it has ended
    virtual asio::awaitable<node_reply> visit(std::size_t member) = 0;

    virtual void add(operation) = 0;

    /// There is a connection, and perhaps something to send on it.
    virtual void send() = 0;

    /// See @ref pending_queue::refuse.
    virtual void refuse(node_reply const& trouble, bool all, finished& over) = 0;

    /// Once a second, while there is a connection.
    virtual void tidy() {}

    /// There is no connection any more: what was sent on it, and was not answered, is over.
    virtual void disconnected(node_reply const& why) = 0;

    /// Ends the connection at once; all operations are over. If @p is_idle and nothing is under way, the session ends.
    virtual void close(bool is_idle, finished& over) = 0;

    /// Ends without touching what belongs to the context.
    virtual void abandon() = 0;
};

/// What a node with leases is made of.
struct lease_settings {
    std::string name;          ///< for people: without user and password
    std::string_view kind;     ///< "etcd"
    std::string_view servers;  ///< what they are called together, such as "cluster"
    std::size_t members = 1;   ///< how many servers there are
    std::size_t keys_max = 0;  ///< of one command
    std::chrono::milliseconds timeout{};
    store_context context{};
    std::function<void(log_level, std::string_view)> log{};  ///< see @ref logger
    /// So that clients are never in step with each other.
    std::minstd_rand::result_type seed = std::random_device()();
};

/// What logs for the node with this name. It can always be called.
std::function<void(log_level, std::string_view)> logger(config const&, std::string name);

/** A node whose locks end with its session or lease: one session, one server at a time, and what is to be sent.

    It connects to one server after the other. It remembers what it has under its lease, and deletes that in time.
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

    // For the driver.

    std::shared_ptr<kit::expiries> const& expiries() const noexcept { return expiries_; }
    std::uint32_t next_connection() noexcept { return members_.next_connection(); }
    std::uint32_t connection() const noexcept { return members_.connection(); }

    /// The servers are those with this @p id, and their latest change is this one.
    /// @return with an error: why they must not vote
    node_reply check_server(std::string const& id, std::int64_t change);
    void heard(std::int64_t change) { history_.heard(change); }

    /// The connection counts, and the servers are fit to vote. @p words: to log
    void up(std::string_view words);

    /// The session has ended, and all locks with it. @p what: "lease"
    void lost(std::string_view what);

    void flush_soon();

    /// What follows from a reply to a command that was sent then, for what the node has under its lease.
    void note(node_command const&, node_reply&, clock::time_point sent);

    /// A key has changed. Empty: changes may have been missed.
    void tell(std::string const& name);

private:
    struct timers {
        timer look, pause;
    };

    static asio::awaitable<void> serve(std::shared_ptr<lease_node>);
    static asio::awaitable<void> run_every_second(std::shared_ptr<lease_node>);
    void down(node_reply why);
    void flush();
    void let_go();

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
    bool refuse_all_ = false;  ///< the next refusal also looks at what earlier ones kept
    node_reply trouble_;       ///< why no connection could be made; no error while it is not known
    std::unique_ptr<driver> const driver_;
};

}  // namespace redlock::stores::kit
