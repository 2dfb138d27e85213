#pragma once

#include "tools/redlock/args/service_url.hpp"

#include "net/addresses.hpp"
#include "net/tls_settings.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace redlock::cli {

namespace asio = boost::asio;

/// A connection to a service, with or without TLS: a stream for Beast.
class service_connection {
public:
    using executor_type = asio::any_io_executor;

    service_connection(asio::any_io_executor, service_url const&, net::tls_settings const&);

    executor_type get_executor() { return socket().get_executor(); }

    /// @param limit  for each of the steps: to find the host, to connect, to agree on TLS
    /// @return why there is no connection; empty: there is one
    asio::awaitable<std::string> open(std::chrono::milliseconds limit);

    bool is_kept = false;  ///< whether the service keeps the connection open after its answer

    template <class Buffers, class Handler>
    void async_read_some(Buffers const& to, Handler&& handler)
    {
        if (url_.has_tls)
            stream_.async_read_some(to, std::forward<Handler>(handler));
        else
            socket().async_read_some(to, std::forward<Handler>(handler));
    }

    template <class Buffers, class Handler>
    void async_write_some(Buffers const& from, Handler&& handler)
    {
        if (url_.has_tls)
            stream_.async_write_some(from, std::forward<Handler>(handler));
        else
            socket().async_write_some(from, std::forward<Handler>(handler));
    }

private:
    asio::generic::stream_protocol::socket& socket() { return stream_.next_layer(); }
    asio::awaitable<std::string> connect(std::chrono::milliseconds limit);
    asio::awaitable<net::reached> find_address(std::chrono::milliseconds limit);

    service_url const& url_;
    asio::ssl::context context_;
    asio::ssl::stream<asio::generic::stream_protocol::socket> stream_;
};

}  // namespace redlock::cli
