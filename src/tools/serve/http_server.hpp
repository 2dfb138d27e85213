#pragma once

#include "tools/serve/api.hpp"
#include "tools/serve/connection_shares.hpp"
#include "tools/serve/http_connection.hpp"
#include "tools/serve/listen_address.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace redlock::serve {

/// Accepts connections, and spreads them over threads.
class http_server : public std::enable_shared_from_this<http_server> {
public:
    using protocol = asio::generic::stream_protocol;

    /// @param of_api the executor on which this object and the api run
    /// @param of_connections the executors of the connections, each with one thread
    /// @param tls null: without TLS
    http_server(asio::any_io_executor of_api, api&, connection_shares&,
                std::vector<asio::any_io_executor> of_connections, std::shared_ptr<asio::ssl::context> tls);

    /// @throws boost::system::system_error if the address cannot be used
    void listen(listen_address const&);

    std::string const& url() const noexcept { return url_; }

    /// Uses another certificate for new connections.
    void use(std::shared_ptr<asio::ssl::context> tls) { tls_ = std::move(tls); }

    /// Accepts no connections any more, and closes idle ones. Requests under way are answered.
    void stop();

    /// Closes all connections. They end in the next passes of the event loop.
    void close();

    bool is_idle() const noexcept { return connections_.is_empty(); }

private:
    void bind(listen_address const&);
    asio::awaitable<void> accept();
    void start(http_connection::socket);

    asio::any_io_executor const executor_;
    api& api_;
    connection_shares& connections_;
    std::vector<asio::any_io_executor> const of_connections_;
    std::shared_ptr<asio::ssl::context> tls_;
    asio::basic_socket_acceptor<protocol> acceptor_;
    asio::steady_timer room_;  ///< is cancelled when a connection ends
    std::size_t accepted_ = 0;
    std::string url_;
    std::string socket_path_;  ///< of the Unix socket that this server has made
    ino_t socket_inode_ = 0;
    bool stopping_ = false;
};

}  // namespace redlock::serve
