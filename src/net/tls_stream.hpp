#pragma once

#include "net/tls_settings.hpp"
#include "net/url_text.hpp"

#include <redlock/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <openssl/ssl.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace redlock::net {

namespace asio = boost::asio;

/// A stream of bytes to a server, with or without TLS. Boost.Beast reads and writes it. Redis has a stream of its own
/// (`stores/redis/stream.hpp`), which waits for bytes before it reads.
class tls_stream {
public:
    using executor_type = asio::any_io_executor;
    using socket = asio::basic_stream_socket<asio::generic::stream_protocol, executor_type>;

    explicit tls_stream(executor_type const& e) : socket_(e) {}

    executor_type get_executor() { return socket_.get_executor(); }
    socket& plain() noexcept { return socket_; }
    SSL* tls() noexcept { return tls_ ? tls_->native_handle() : nullptr; }

    /// From now on, the stream uses TLS. @p settings are those of @p host.
    template <class Token>
    auto async_handshake(tls_settings const& settings, std::string const& host, Token&& token)
    {
        context_.emplace(settings.context());
        tls_.emplace(socket_, *context_);
        if (!is_address(host))  // RFC 6066: a server name is not an address
            SSL_set_tlsext_host_name(tls(), host.c_str());
        return tls_->async_handshake(asio::ssl::stream_base::client, std::forward<Token>(token));
    }

    template <class Buffers, class Token>
    auto async_read_some(Buffers const& to, Token&& token)
    {
        return asio::async_initiate<Token, void(error_code, std::size_t)>(
            [this](auto handler, Buffers const& buffers) {
                if (tls_)
                    tls_->async_read_some(buffers, std::move(handler));
                else
                    socket_.async_read_some(buffers, std::move(handler));
            },
            token, to);
    }

    template <class Buffers, class Token>
    auto async_write_some(Buffers const& from, Token&& token)
    {
        return asio::async_initiate<Token, void(error_code, std::size_t)>(
            [this](auto handler, Buffers const& buffers) {
                if (tls_)
                    tls_->async_write_some(buffers, std::move(handler));
                else
                    socket_.async_write_some(buffers, std::move(handler));
            },
            token, from);
    }

private:
    socket socket_;
    std::optional<asio::ssl::context> context_;
    std::optional<asio::ssl::stream<socket&>> tls_;
};

}  // namespace redlock::net
