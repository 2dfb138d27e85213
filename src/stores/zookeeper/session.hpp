#pragma once

#include "stores/zookeeper/address.hpp"
#include "stores/zookeeper/transport.hpp"
#include "stores/zookeeper/greeting.hpp"
#include "stores/zookeeper/layout.hpp"
#include "stores/zookeeper/uses.hpp"

#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace redlock::stores::zookeeper {

/// The settings of connections.
struct session_settings {
    std::chrono::milliseconds connect_timeout;
    double drift_factor;
    bool reads_only;
    std::function<void(log_level, std::string_view)> log;  ///< never empty
};

/** A session with an ensemble, over several connections, one after the other.

    Used as a std::shared_ptr, on the executor.
*/
class session : public std::enable_shared_from_this<session> {
public:
    class owner : public transport::owner {
    public:
        /// @return the number of the next connection
        virtual std::uint32_t next_connection() = 0;
        /// @return with an error: why the servers must not vote
        virtual node_reply check_server(greeting const&) = 0;
        /// The connection counts, and the servers may vote. @p words: to log
        virtual void up(greeting const&, std::string_view words) = 0;
        /// The servers have answered; this is their latest change.
        virtual void heard(std::int64_t zxid) = 0;
        /// The session has ended.
        virtual void lost() = 0;

    protected:
        ~owner() = default;
    };

    session(asio::any_io_executor, address const&, session_settings, owner&);

    asio::any_io_executor const& get_executor() const noexcept { return executor_; }

    /// Connects to one server. Tries its addresses one after the other. @return why the last connection has ended
    asio::awaitable<node_reply> visit(member);

    /// The connection that counts, or that is being established.
    std::shared_ptr<transport> const& server() const noexcept { return server_; }
    clientid_t const& id() const noexcept { return id_; }

    zookeeper::layout const& names() const noexcept { return layout_; }

    /// The session's timeout, which the servers have chosen.
    std::chrono::milliseconds timeout() const noexcept { return timeout_; }

    /// For how long after @p asked the servers certainly keep what they have committed.
    std::chrono::milliseconds promise(clock::time_point asked) const;

    void close(bool for_good);  ///< the owner gets no more calls; @p for_good: the servers end the session, too
    void abandon();             ///< like @ref close; touches nothing that belongs to the context

private:
    enum class outcome { unreachable, expired, used };
    asio::awaitable<node_reply> live(member const&, asio::ip::tcp::endpoint, outcome&);
    static asio::awaitable<void> beat(std::shared_ptr<session>, std::shared_ptr<transport>);

    asio::any_io_executor const executor_;
    address const address_;
    session_settings const settings_;
    time_limits const limits_;
    layout const layout_;
    owner* owner_;  ///< null after the end
    asio::ip::basic_resolver<asio::ip::tcp, asio::any_io_executor> resolver_;
    timer beat_;
    std::shared_ptr<transport> server_;
    clientid_t id_{};  ///< number 0: no session
    std::chrono::milliseconds timeout_{};
    uses uses_;
};

}  // namespace redlock::stores::zookeeper
