#pragma once

#include "serve/api.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>

#include <atomic>
#include <chrono>
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
    using clock = std::chrono::steady_clock;

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

    /// Since when no whole request has come. The maximum: a request is under way.
    clock::time_point idle_since() const noexcept { return clock::time_point(clock::duration(idle_since_.load())); }

protected:
    void set_idle(bool is_idle) noexcept
    {
        idle_since_ = (is_idle ? clock::now() : clock::time_point::max()).time_since_epoch().count();
    }

private:
    std::atomic<clock::rep> idle_since_{clock::now().time_since_epoch().count()};
};

}  // namespace redlock::serve
