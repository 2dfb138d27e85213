#pragma once

#include "shop.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

namespace shop {

using tcp = asio::ip::tcp;

/** The HTTP/1.1 server of the shop: connections with keep-alive and pipelining, the page, and its stream of events.

    Each connection is a coroutine on a strand of its own. The list of connections has another strand.
*/
class server {
public:
    /// Listens on loopback. @param port 0: any free port
    server(asio::io_context&, shop&, settings const&, std::uint16_t port);

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

    /// Accepts connections until @ref stop is called.
    void start();

    /// Accepts no new connections and requests. After @p grace, it cancels the requests that are still under way. It
    /// completes when all connections are closed.
    asio::awaitable<void> stop(std::chrono::milliseconds grace);

private:
    struct connection {
        explicit connection(tcp::socket s) : stream(std::move(s)) {}
        boost::beast::tcp_stream stream;
        boost::beast::flat_buffer input;
        asio::cancellation_signal cancel;
        bool works = false;  ///< a request is under way
    };

    asio::awaitable<void> accept();
    asio::awaitable<void> serve(std::shared_ptr<connection>);
    asio::awaitable<void> answer(connection&, request const&);
    asio::awaitable<void> stream_events(connection&, request const&);
    void finish(std::shared_ptr<connection> const&);

    asio::io_context& context_;
    asio::any_io_executor strand_;  ///< for the list of connections
    shop& shop_;
    settings const settings_;
    tcp::acceptor acceptor_;
    asio::steady_timer place_is_free_;  ///< cancelled when a connection ends
    asio::steady_timer all_gone_;
    std::list<std::shared_ptr<connection>> connections_;
    std::atomic<bool> stopping_{false};
};

}  // namespace shop
