#pragma once

#include "core/server_history.hpp"
#include "stores/kit/session.hpp"

#include <redlock/clock.hpp>
#include <redlock/config.hpp>
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
#include <vector>

namespace redlock::stores::kit {

/// What a database node is made of.
struct database {
    std::string name;  ///< for people: without user and password
    std::string kind;  ///< such as "postgresql": what servers of this kind say of themselves is theirs alone
    std::size_t connections;
    std::chrono::milliseconds timeout;
    /// Makes session @p i; the first one is to be notified of changes.
    std::function<std::shared_ptr<session>(asio::any_io_executor, std::size_t i, session::owner&)> make_session;
    /// How long after the promotion of another server clients may go on with the one before, if they can see both.
    std::chrono::milliseconds heard_within{0};
    /// So that clients are never in step with each other.
    std::minstd_rand::result_type seed = std::random_device()();
};

/** A few connections to one database, from the first use on: opened, opened again after growing pauses, given up when
    nothing is answered on them, and judged by what their servers say of themselves.

    On the executor, but for what may be asked on any thread. Belongs to a node, which is kept alive by whoever calls.

    It is large because each of its decisions needs both the open connections and what earlier servers have said.
*/
class connections final : public session::owner {
public:
    class owner {
    public:
        virtual void connected(server_identity const&) = 0;
        /// A key, see @ref watches; empty: changes may have been missed.
        virtual void notified(std::string_view what) = 0;
        virtual void changes_missed() = 0;
        /// What waits may be sent, or must hear of @ref trouble.
        virtual void state_changed() = 0;
        /// Once a second.
        virtual void looked() = 0;

    protected:
        ~owner() = default;
    };

    connections(database, config const&, store_context, owner&);

    /// @p self keeps this alive.
    void start(asio::any_io_executor, std::weak_ptr<void> self);
    void open();  ///< unless it has begun to
    void close() { leave(&session::close); }
    void abandon() { leave(&session::abandon); }

    bool ready() const noexcept { return ready_.load(std::memory_order_relaxed); }        ///< any thread
    bool notifies() const noexcept { return notifies_.load(std::memory_order_relaxed); }  ///< likewise

    /// The one that @p text belongs to, or, if that is away, another; null: there is none.
    session* session_for(std::string_view text, clock::time_point now);

    /// Why no connection could be made; no error while it is not known.
    node_reply const& trouble() const noexcept { return trouble_; }

    /// Whether the server may still carry out what was sent on connection @p n.
    bool may_still_execute(std::uint32_t n) const;

    std::string const& name() const noexcept { return database_.name; }
    std::chrono::milliseconds timeout() const noexcept { return database_.timeout; }

private:
    struct place {
        std::shared_ptr<session> link;
        std::optional<timer> retry{};
        unsigned failures = 0;
        clock::time_point up_since{};
    };

    /// A connection that has ended, whose backend may not know it yet.
    struct ended {
        std::uint32_t number;
        kit::backend backend;
        clock::time_point at;
    };

    node_reply check_server(session&, introduction const&) override;
    void up(session&) override;
    void down(session&, bool was_up, node_reply why) override;
    void notified(std::string_view what, std::int64_t by) override;
    void log(log_level, std::string const& what) const override;

    std::vector<std::shared_ptr<session>> links() const;
    place& place_of(session&);
    void open_others();
    bool has_backend_of_another(session const&, kit::backend const&) const;
    void cut_others(session const&, node_reply const& why);
    server_identity identity_of(introduction const&) const;
    void set_trouble(node_reply why);
    bool silent(session const&, clock::time_point now) const;
    clock::duration pause(unsigned failures);
    void look_again_later();
    void check_links();
    void durability_told(session const&, bool durable);
    void end_earlier();
    void leave(void (session::*how)());

    database const database_;
    std::chrono::milliseconds const max_ttl_;
    store_context const context_;
    std::function<void(log_level, std::string_view)> const log_;
    owner& owner_;
    std::weak_ptr<void> self_;
    asio::any_io_executor executor_;
    std::atomic<bool> ready_{false}, notifies_{false};
    bool begun_ = false, all_begun_ = false, closed_ = false;
    std::vector<place> places_;
    node_reply trouble_;
    introduction server_;  ///< the latest
    core::server_history history_;
    server_identity identity_;
    bool forgets_ = false;  ///< the line of history that it is in began with copies, or made anew: there may have been
                            ///< other locks before
    std::optional<clock::time_point> met_another_;  ///< when a database came in the place of another
    bool unmet_ = false;                            ///< the manager has not heard of it yet
    std::uint32_t number_ = 0;                      ///< of the latest connection
    std::vector<ended> ended_;
    std::optional<timer> look_;
    unsigned looks_ = 0;
    std::minstd_rand random_;
    unsigned const clean_at_;
};

}  // namespace redlock::stores::kit
