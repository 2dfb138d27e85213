#pragma once

#include "serve/api.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>

#include <memory>

namespace redlock::serve {

/** One connection of a client: answers its requests one after the other.

    - A request that waits for a lock ends when its client goes. If the client goes before it gets a new lock, the lock
      is released.
    - A client that sends or reads too slowly is disconnected, and so is an idle one.

    It runs on the executor of its socket, and the @ref api on an executor of its own. The functions but @ref run may be
    called from any thread.
*/
class http_connection : public std::enable_shared_from_this<http_connection> {
public:
    using socket = boost::asio::generic::stream_protocol::socket;

    /// @param tls null: without TLS
    http_connection(socket, api&, asio::any_io_executor of_api, asio::ssl::context* tls);

    asio::awaitable<void> run();

    /// Ends the connection after the answer that is under way, or at once.
    void stop();

    void close();

private:
    template <class Stream>
    asio::awaitable<void> answer_all(Stream&);
    template <class Stream, class Buffer>
    asio::awaitable<bool> answer_one(Stream&, Buffer& input);
    template <class Stream>
    asio::awaitable<bool> send(Stream&, answer&);
    template <class Stream>
    asio::awaitable<void> send_events(Stream&, event_stream&);
    asio::awaitable<void> handle(request const&, answer&);
    asio::awaitable<void> give_back(lock_ticket);

    socket socket_;
    api& api_;
    asio::any_io_executor const of_api_;
    asio::ssl::context* const tls_;
    bool is_idle_ = true, stopping_ = false;
};

}  // namespace redlock::serve
