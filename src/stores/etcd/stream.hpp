#pragma once

#include "net/tls_settings.hpp"

#include <redlock/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace redlock::stores::etcd {

namespace asio = boost::asio;

/// A stream of bytes to a server, over TCP with or without TLS. Boost.Beast reads and writes it.
class stream {
public:
    using executor_type = asio::any_io_executor;
    using socket = asio::basic_stream_socket<asio::ip::tcp, executor_type>;
    using tls_stream = asio::ssl::stream<socket&>;

    explicit stream(executor_type const& e) : socket_(e) {}

    executor_type get_executor() { return socket_.get_executor(); }
    socket& tcp() noexcept { return socket_; }
    tls_stream* tls() noexcept { return tls_ ? &*tls_ : nullptr; }

    tls_stream& begin_tls(asio::ssl::context c)
    {
        context_.emplace(std::move(c));
        return tls_.emplace(socket_, *context_);
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
    std::optional<tls_stream> tls_;
};

}  // namespace redlock::stores::etcd
