#pragma once

#include "serve/answers.hpp"
#include "serve/api.hpp"
#include "serve/listen_address.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <string>

namespace redlock::serve {

/** Accepts connections and passes their requests to the @ref api, one after the other on each connection.

    - A request that waits for a lock ends when its client goes. If the client goes before it gets a new lock, the lock
      is released.
    - A client that sends or reads too slowly is disconnected, and so is an idle one. A header has at most 16 KiB, and a
      body at most 256 KiB.

    Everything runs on one thread.
*/
class http_server : public std::enable_shared_from_this<http_server> {
public:
    using protocol = asio::generic::stream_protocol;
    using socket = protocol::socket;

    http_server(asio::any_io_executor, api&, std::size_t connections_max);

    /// @throws boost::system::system_error if the address cannot be used
    void listen(listen_address const&);

    std::string const& url() const noexcept { return url_; }

    /// Accepts no connections any more, and closes idle ones. Requests under way are answered.
    void stop();

    /// Closes all connections. They end in the next passes of the event loop.
    void close();

    bool is_idle() const noexcept { return connections_.empty(); }

private:
    struct connection {
        socket stream;
        bool is_idle = true;
    };
    using place = std::list<connection>::iterator;

    asio::awaitable<void> accept();
    asio::awaitable<void> serve(place);
    asio::awaitable<void> handle(request const&, answer&);
    asio::awaitable<bool> serve_one(connection&, boost::beast::flat_buffer&);

    asio::any_io_executor const executor_;
    api& api_;
    std::size_t const connections_max_;
    asio::basic_socket_acceptor<protocol> acceptor_;
    std::list<connection> connections_;
    std::string url_, socket_path_;
    bool stopping_ = false;
};

}  // namespace redlock::serve
