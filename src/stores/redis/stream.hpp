#pragma once

#include "net/tls.hpp"
#include "runtime/strand.hpp"

#include <redlock/error.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::stores::redis {

/** The bytes of one connection: over TCP or a Unix socket, with TLS or without.

    On one strand. It is used as a std::shared_ptr, and lives until its operations have completed.
*/
class stream : public std::enable_shared_from_this<stream> {
public:
    using endpoint = asio::generic::stream_protocol::endpoint;

    /// Whose connection it is.
    class owner {
    public:
        /// These bytes have come. It removes those that it does not need again from the front.
        virtual void received(std::string_view& bytes) = 0;

        /// The connection has ended by itself. May be called from within @ref write.
        virtual void broke(error_code) = 0;

    protected:
        ~owner() = default;
    };

    /// @param rest_max how many bytes the owner may want to have again
    stream(runtime::strand const&, owner&, std::size_t rest_max);

    asio::awaitable<error_code, runtime::strand> connect(endpoint to);

    /// Behind @ref connect. @p name: of the server, for its certificate; empty: it has none.
    asio::awaitable<error_code, runtime::strand> shake_hands(net::tls_settings const&, std::string const& name);

    /// From now on what comes is handed to the owner.
    void start();

    /// From @ref start on. What the system does not take at once leaves later, with all that was written meanwhile.
    void write(std::string_view bytes);

    /// What is given up is not sent again by the system.
    void linger_never();

    /// Ends what is under way. The owner hears nothing more.
    void close();

    /// Why the server's certificate was not accepted; empty: it was, or there is none.
    std::string certificate_failure() const;

private:
    using socket = asio::basic_stream_socket<asio::generic::stream_protocol, runtime::strand>;

    void read();
    void read_what_is_there();
    void received(std::size_t size);
    void write_rest();
    void broke(error_code);

    socket socket_;
    std::optional<asio::ssl::stream<socket&>> tls_;
    owner* owner_;  ///< null after the end
    std::size_t const space_;
    std::unique_ptr<char[]> bytes_;  ///< that have come
    std::size_t size_ = 0;           ///< of what the owner wants to have again
    std::string unsent_, leaving_;
};

}  // namespace redlock::stores::redis
