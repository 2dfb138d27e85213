#pragma once

#include "tools/serve/api.hpp"
#include "tools/serve/client_connection.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>

#include <cstddef>
#include <memory>

namespace redlock::serve {

/** One connection of a client: answers its requests one after the other.

    - A request that waits for a lock ends when its client goes. If the client goes before it gets a new lock, the lock
      is released.
    - A client that sends or reads too slowly is disconnected, and so is an idle one. A client whose bearer token is not
      known has less time to read.
    - The token is checked before the body of a request is read.

    It runs on the executor of its socket, and the @ref api on an executor of its own.
*/
class http_connection : public client_connection {
public:
    using socket = boost::asio::generic::stream_protocol::socket;

    /// @param number in @ref instance::connections
    /// @param tls null: without TLS
    static std::shared_ptr<http_connection> make(socket, std::size_t number, api&, asio::any_io_executor of_api,
                                                 asio::ssl::context* tls);
};

}  // namespace redlock::serve
