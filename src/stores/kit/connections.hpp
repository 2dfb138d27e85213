#pragma once

#include "core/server_memory.hpp"
#include "stores/kit/session.hpp"

#include <redlock/clock.hpp>
#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>
#include <redlock/store.hpp>

#include <boost/asio/any_io_executor.hpp>

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
#include <utility>
#include <vector>

namespace redlock::stores::kit {

/// The parameters of a database node.
struct database {
    std::string name;  ///< for logs and messages: without user and password
    std::string kind;  ///< such as "postgresql"; identities of servers are compared only within a kind
    std::size_t connections;
    std::chrono::milliseconds timeout;
    /// Makes session @p i. The first one gets the notifications about changes.
    std::function<std::shared_ptr<session>(asio::any_io_executor, std::size_t i, session::owner&)> make_session;
    /// The longest time after a failover in which clients that can reach both servers still use the old one.
    std::chrono::milliseconds heard_within{0};
    /// Seed of the jitter.
    std::minstd_rand::result_type seed = std::random_device()();
};

/** Keeps a few connections to one database from the first use on. It reconnects with back-off, ends connections that do
    not answer, and decides from the servers' answers whether they may vote.

    All functions run on the executor, except those that are marked "any thread". The caller keeps the node alive, which
    owns this object.

    The class is large because each decision needs the open connections and the history of the servers.
*/
class connections final : public session::owner {
public:
    class owner {
    public:
        virtual void connected(server_identity const&) = 0;
        virtual void learned(server_identity const&) = 0;
        /// A notification from the server: see @ref watches::heard.
        virtual void notified(std::string_view what) = 0;
        /// Notifications may be lost.
        virtual void changes_missed() = 0;
        /// The owner can send waiting operations, or must complete them with @ref trouble.
        virtual void state_changed() = 0;
        /// Called once a second.
        virtual void looked() = 0;

    protected:
        ~owner() = default;
    };

    connections(database, manager_options const&, store_context, owner&);

    /// @param self the owner of this object; callbacks lock it, and do nothing if it is gone
    void start(asio::any_io_executor, std::weak_ptr<void> self);
    void open();  ///< further calls do nothing
    void close() { leave(&session::close); }
    void abandon() { leave(&session::abandon); }

    bool ready() const noexcept { return ready_.load(std::memory_order_relaxed); }        ///< any thread
    bool notifies() const noexcept { return notifies_.load(std::memory_order_relaxed); }  ///< any thread

    /// The session for commands with the value or key @p text. If that session is down or silent, another one. Null:
    /// no session is up.
    session* session_for(std::string_view text, clock::time_point now);

    /// Why no connection could be made. No error: the reason is not known yet.
    node_reply const& trouble() const noexcept { return trouble_; }

    /// Whether the server may still execute commands that were sent on connection @p n.
    bool may_still_execute(std::uint32_t n) const;

    /// If the record is fresh, makes it founded. @p done gets a grant if the record is founded. If the command only
    /// asks, it gets a grant if the server is still new.
    void found(session&, commands::found, std::function<void(node_reply)> done);

    /// If the record is fresh, notes in it that the set is not new.
    void note_old_set();

    std::string const& name() const noexcept { return database_.name; }
    std::chrono::milliseconds timeout() const noexcept { return database_.timeout; }

private:
    struct connection {
        std::shared_ptr<kit::session> session;
        std::optional<timer> retry{};
        unsigned failures = 0;
        clock::time_point up_since{};
    };

    /// A connection that has ended. Its backend may still run.
    struct ended {
        std::uint32_t number;
        kit::backend backend;
        clock::time_point at;
    };

    node_reply check_server(session&, introduction const&) override;
    void up(session&) override;
    void down(session&, bool was_up, node_reply why) override;
    void notified(std::string_view what) override;
    void log(log_level, std::string const& what) const override;

    std::vector<std::shared_ptr<session>> sessions() const;
    connection& connection_of(session&);
    void open_others();
    bool has_backend_of_another(session const&, kit::backend const&) const;
    void cut_others(session const&, node_reply const& why);
    void set_trouble(node_reply why);
    bool silent(session const&, clock::time_point now) const;
    clock::duration pause(unsigned failures);
    void look_again_later();
    bool is_fresh() const;
    void check_sessions();
    void look(session&, std::string verdict, std::function<void(core::memory_record const*)> done);
    void tell_what_is_known();
    void end_earlier();
    void leave(void (session::*how)());

    database const database_;
    store_context const context_;
    std::chrono::milliseconds const max_ttl_;
    std::function<void(log_level, std::string_view)> const log_;
    owner& owner_;
    std::weak_ptr<void> self_;
    asio::any_io_executor executor_;
    std::atomic<bool> ready_{false}, notifies_{false};
    bool begun_ = false, all_begun_ = false, closed_ = false;
    std::vector<connection> all_;
    node_reply trouble_;
    introduction server_;  ///< the latest answer
    core::server_memory memory_;
    std::optional<server_identity> met_;  ///< what the manager has been told
    std::uint32_t number_ = 0;            ///< of the latest connection
    std::vector<ended> ended_;
    std::optional<timer> look_;
    unsigned looks_ = 0;
    std::minstd_rand random_;
    unsigned const clean_at_;
};

}  // namespace redlock::stores::kit
