#pragma once

#include "stores/kit/members.hpp"
#include "stores/zookeeper/address.hpp"
#include "stores/zookeeper/client.hpp"
#include "stores/zookeeper/greeting.hpp"
#include "stores/zookeeper/history.hpp"
#include "stores/zookeeper/layout.hpp"
#include "stores/zookeeper/uses.hpp"

#include <redlock/config.hpp>
#include <redlock/node.hpp>
#include <redlock/store.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace redlock::zk {

/** A session with an ensemble, over one connection after the other, to one server after the other.

    Used as a std::shared_ptr, on the executor.
*/
class link : public std::enable_shared_from_this<link> {
public:
    class owner : public client::owner {
    public:
        /// The connection counts, and the servers are fit to vote.
        virtual void up(greeting const&) = 0;
        /// It has ended, or could not be made. @p is_known: no server can be had at all
        virtual void down(node_reply why, bool is_known) = 0;
        /// The session has ended.
        virtual void lost() = 0;

    protected:
        ~owner() = default;
    };

    link(asio::any_io_executor, address, config const&, store_context, owner&);

    /// All of it, until @ref close.
    static asio::awaitable<void> run(std::shared_ptr<link>);

    /// The connection that counts, or is being made.
    std::shared_ptr<client> const& server() const noexcept { return server_; }
    std::uint32_t number() const noexcept { return number_; }
    clientid_t const& session() const noexcept { return session_; }

    zk::layout const& names() const noexcept { return layout_; }

    /// What is known of the servers.
    server_identity const& identity() const noexcept { return history_.identity(); }

    /// Of the session, as the servers want it.
    std::chrono::milliseconds timeout() const noexcept { return timeout_; }

    /// For how long after it was asked, what has been committed is certain to be there.
    std::chrono::milliseconds promise(clock::time_point asked) const;

    void close(bool with_session);  ///< the owner hears of nothing any more
    void abandon();                 ///< likewise, without touching what belongs to the context

private:
    asio::awaitable<node_reply> visit(member);
    asio::awaitable<node_reply> live(asio::ip::tcp::endpoint, bool& expired);
    static asio::awaitable<void> beat(std::shared_ptr<link>, std::shared_ptr<client>);
    node_reply meet(greeting const&);
    void log(log_level, std::string_view) const;

    asio::any_io_executor const executor_;
    address const address_;
    store_context const context_;
    double const drift_factor_;
    std::function<void(log_level, std::string_view)> const log_;
    patience const patience_;
    layout const layout_;
    owner* owner_;  ///< null after the end
    leases::members<member> members_;  // each client begins with another one
    asio::ip::basic_resolver<asio::ip::tcp, asio::any_io_executor> resolver_;
    timer pause_, beat_;
    std::shared_ptr<client> server_;
    std::uint32_t number_ = 0;             ///< of the latest connection
    clientid_t session_{};                 ///< its number is 0: there is none
    std::chrono::milliseconds timeout_{};
    history history_;
    uses uses_;
    std::optional<clock::time_point> up_since_;
};

}  // namespace redlock::zk
