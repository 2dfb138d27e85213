#pragma once

#include "net/tls_settings.hpp"
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

    All functions run on one strand. The object is owned by std::shared_ptr, and lives until its operations complete.
*/
class stream : public std::enable_shared_from_this<stream> {
public:
    using endpoint = asio::generic::stream_protocol::endpoint;

    class owner {
    public:
        /// Called with the received bytes. The owner removes from the front those that it has used.
        virtual void received(std::string_view& bytes) = 0;

        /// The server or the network ended the connection. The stream may call this from within @ref write.
        virtual void broke(error_code) = 0;

    protected:
        ~owner() = default;
    };

    /// @param rest_max the most bytes that the owner leaves over
    stream(runtime::strand const&, owner&, std::size_t rest_max);

    asio::awaitable<error_code, runtime::strand> connect(endpoint to);

    /// Call it after @ref connect. @param name the host name in the server's certificate; empty: no name
    asio::awaitable<error_code, runtime::strand> shake_hands(net::tls_settings const&, std::string const& name);

    /// Starts to read. The owner gets all received bytes.
    void start();

    /// Call it after @ref start. If the system does not take all bytes, the stream sends the rest later.
    void write(std::string_view bytes);

    /// Makes the system drop unsent bytes when the connection ends (SO_LINGER 0).
    void linger_never();

    /// Cancels all operations. The owner gets no more calls.
    void close();

    /// Why the server's certificate was not accepted. Empty: it was accepted, or there is none.
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
    owner* owner_;  ///< null after the end of the connection
    std::size_t const space_;
    std::unique_ptr<char[]> bytes_;  ///< received bytes
    std::size_t size_ = 0;           ///< of the bytes that the owner left over
    std::string unsent_, leaving_;
};

}  // namespace redlock::stores::redis
