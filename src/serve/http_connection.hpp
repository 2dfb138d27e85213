#pragma once

#include "serve/api.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>

#include <atomic>
#include <functional>
#include <memory>

namespace redlock::serve {

/** One connection of a client: answers its requests one after the other.

    - A request that waits for a lock ends when its client goes. If the client goes before it gets a new lock, the lock
      is released.
    - A client that sends or reads too slowly is disconnected, and so is an idle one.

    It runs on the executor of its socket, and the @ref api on an executor of its own. All functions may be called from
    any thread.
*/
class http_connection {
public:
    using socket = boost::asio::generic::stream_protocol::socket;

    /// @param tls null: without TLS
    static std::shared_ptr<http_connection> make(socket, api&, asio::any_io_executor of_api, asio::ssl::context* tls);

    virtual ~http_connection() = default;

    /// @param ended is called on the executor of the api, when nothing of the connection is under way any more
    virtual void start(std::function<void()> ended) = 0;

    /// Ends the connection after the answer that is under way, or at once.
    virtual void stop() = 0;

    virtual void close() = 0;

    /// Ends the connection if no whole request has come.
    virtual void drop_if_idle() = 0;

    bool is_idle() const noexcept { return is_idle_; }

protected:
    std::atomic<bool> is_idle_ = true;  ///< no whole request has come
};

}  // namespace redlock::serve
